/** An nginx on loopback with `limit_conn` and `limit_req`: a limiter that nobody here wrote. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Debian keeps it where only root looks. */
const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/usr/local/sbin` };

export const hasNginx = spawnSync('nginx', ['-v'], { env }).status === 0;

export interface NginxOptions {
  readonly upstream: string;
  readonly concurrency: number;
  readonly requestsPerMinute: number;
}

export async function startNginx(options: NginxOptions): Promise<{ url: string; close(): Promise<void> }> {
  const prefix = await mkdtemp(join(tmpdir(), 'rx-admission-nginx-'));
  const port = await freePort();
  await writeFile(join(prefix, 'nginx.conf'), config(port, options));
  const argv = ['-p', prefix, '-c', 'nginx.conf', '-e', 'stderr'];
  const child = spawn('nginx', argv, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => (complaint += text.toString()));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`nginx ended at once: ${complaint}`);
    await sleep(20);
  }
  return {
    url,
    close: async () => {
      child.kill('SIGTERM');
      await exited;
      await rm(prefix, { recursive: true });
    },
  };
}

/** One worker: a place is free before its caller hears the end. `burst` makes `limit_req` a bucket of one minute. */
const config = (port: number, { upstream, concurrency, requestsPerMinute }: NginxOptions): string => `
daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy;
  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  limit_conn_zone $server_name zone=places:1m;
  limit_req_zone $server_name zone=pace:1m rate=${requestsPerMinute}r/m;
  limit_conn_status 429;
  limit_req_status 429;
  server {
    listen 127.0.0.1:${port};
    server_name provider;
    location = /up { return 200; }
    location / {
      limit_conn places ${concurrency};
      limit_req zone=pace burst=${requestsPerMinute - 1} nodelay;
      error_page 429 @limited;
      proxy_pass ${upstream};
      proxy_http_version 1.1;
      proxy_buffering off;
    }
    location @limited {
      default_type application/json;
      return 429 '{"error":{"message":"Too fast.","type":"requests","param":null,"code":"rate_limit_exceeded"}}';
    }
  }
}
`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/up`).then((reply) => reply.ok, () => false);
}
