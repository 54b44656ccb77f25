/** The system's own Postgres binaries, on a cluster of our own. */
import { execFileSync } from 'node:child_process';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, type Owner } from './cluster.js';
import type { Postgres } from './postgres.js';

const ROOT = '/usr/lib/postgresql';

/** The folder of the newest version's binaries; null where there is none, or where root has nobody to run them as. */
export function systemBinaries(): string | null {
  const versions = existsSync(ROOT) ? readdirSync(ROOT).sort((one, other) => Number(other) - Number(one)) : [];
  const folder = versions.map((version) => join(ROOT, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
  return folder === undefined || (isRoot() && ownerOf('postgres') === null) ? null : folder;
}

export async function startSystem(): Promise<Postgres> {
  const folder = systemBinaries();
  if (folder === null) throw new Error(`there is no Postgres under ${ROOT}`);
  const directory = await mkdtemp(join(tmpdir(), 'rx-admission-postgres-'));
  const owner = isRoot() ? ownerOf('postgres') : null;
  if (owner !== null) await chown(directory, owner.uid, owner.gid);
  const flags = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--no-sync'];
  execFileSync(join(folder, 'initdb'), ['-D', directory, ...flags], { stdio: 'pipe', cwd: directory, ...owner });
  return startCluster({
    kind: 'system',
    binary: join(folder, 'postgres'),
    directory,
    owner,
    remove: () => rm(directory, { recursive: true, force: true }),
  });
}

const isRoot = (): boolean => process.getuid?.() === 0;

function ownerOf(user: string): Owner | null {
  const id = (flag: string): number => Number(execFileSync('id', [flag, user], { stdio: 'pipe' }).toString());
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return null;
  }
}
