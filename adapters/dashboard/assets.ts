import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The layout engine is served unchanged from its package; nothing is fetched from elsewhere. */
const FROM_PACKAGES: Readonly<Record<string, string>> = {
  '/vendor/elk-api.js': 'elkjs/lib/elk-api.js',
  '/vendor/elk-worker.js': 'elkjs/lib/elk-worker.min.js',
};

const PAGE_FILE = /^\/([a-z-]+\.(?:html|css|js|svg))$/;

/** Headers of every response: the page loads nothing from elsewhere, runs no inline script and cannot be framed. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Serves the page's file for `path`; false when there is none. Read from disk each time, so that it costs no memory while unused. */
export async function serveAsset(path: string, pageFolder: URL, response: ServerResponse, headers = SECURITY_HEADERS): Promise<boolean> {
  const url = assetUrl(path === '/' ? '/index.html' : path, pageFolder);
  const body = url && (await readFile(fileURLToPath(url)).catch(() => null));
  if (!body) return false;
  response.writeHead(200, {
    ...headers,
    'Content-Type': TYPES[path === '/' ? 'html' : (path.split('.').pop() ?? '')] ?? 'application/octet-stream',
    'Cache-Control': path.startsWith('/vendor/') ? 'private, max-age=86400' : 'no-cache',
  });
  response.end(body);
  return true;
}

function assetUrl(path: string, pageFolder: URL): string | null {
  const packaged = FROM_PACKAGES[path];
  if (packaged) return import.meta.resolve(packaged);
  const [, file] = PAGE_FILE.exec(path) ?? [];
  return file ? new URL(file, pageFolder).href : null;
}
