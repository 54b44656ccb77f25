/** Runs a block that registers tests, inside the test run itself: its `it` is vitest's own. */
import assert from 'node:assert/strict';
import { compileFunction } from 'node:vm';
import * as rxjs from 'rxjs';
import * as rxjsTesting from 'rxjs/testing';
import * as rxAdmission from 'rx-admission';
import * as rxAdmissionTesting from 'rx-admission/testing';
import { transformSync } from 'esbuild';
import * as vitest from 'vitest';
import type { Block } from './page.js';

const MODULES: Readonly<Record<string, unknown>> = {
  'node:assert/strict': assert,
  rxjs,
  'rxjs/testing': rxjsTesting,
  'rx-admission': rxAdmission,
  'rx-admission/testing': rxAdmissionTesting,
  vitest,
};

/** @throws whatever the block throws, or an error for a module that is not at hand. */
export function register({ before, own }: Block): void {
  const typescript = [...before, ...own].map(({ text }) => text).join('\n');
  const { code } = transformSync(typescript, { loader: 'ts', format: 'cjs', target: 'node20' });
  const load = (name: string): unknown => {
    if (!(name in MODULES)) throw new Error(`a block that registers tests may not import ${name}`);
    return MODULES[name];
  };
  const body = compileFunction(code, ['require', 'module']) as (require: typeof load, module: object) => void;
  body(load, { exports: {} });
}
