import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Needed, whyMissing } from './image-builder.ts';

const DEMO = 'docker-compose.yml';
const OPERATOR = 'docker-compose.operator.yml';

/** Debian's docker-compose, and what podman makes networks with in which containers know each other by name. */
const NEEDED: Needed = {
  'docker-compose': 'docker-compose',
  iptables: 'iptables',
  netavark: '/usr/lib/podman/netavark',
  'aardvark-dns': '/usr/lib/podman/aardvark-dns',
};

interface Service {
  readonly image: string;
  readonly build?: string | { readonly target: string };
}

/** The images that the compose files want, by the names under which Docker looks for them, and the stage that the demo's is built to. @throws Error when the files do not agree on Redis */
export function composedImages(root: string): {
  readonly redis: string;
  readonly demo: string;
  readonly target: string;
  readonly operator: string;
} {
  const servicesOf = (file: string) =>
    (parse(readFileSync(join(root, file), 'utf8')) as { readonly services: Readonly<Record<string, Service>> }).services;
  const [{ redis, demo }, { redis: other, operator }] = [servicesOf(DEMO), servicesOf(OPERATOR)];
  if (!redis || !demo || typeof demo.build !== 'object' || !operator || operator.build !== '.')
    throw new Error('the compose files build other images');
  if (redis.image !== other?.image) throw new Error('the compose files name different images of Redis');
  return { redis: redis.image, demo: hub(demo.image), target: demo.build.target, operator: hub(operator.image) };
}

/** By the name under which Docker, and a node, look for an image that names no registry. */
export const hub = (image: string): string => `docker.io/library/${image}`;

/** Why the compose files cannot be brought up here, or null when they can: what is missing is installed. */
export const whyNoCompose = (): string | null => whyMissing(NEEDED);
