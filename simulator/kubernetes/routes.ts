import type { Registry } from './registry.ts';
import type { Resource } from './resource.ts';

export interface Target {
  resource: Resource;
  namespace: string | undefined;
  /** Absent for the collection. */
  name: string | undefined;
  subresource: string | undefined;
}

const decode = (segment: string | undefined): string | undefined => {
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    // A stray % is no escape: such a name cannot exist, and answers 404 like any other.
    return segment;
  }
};

/** The resource that a path below /api or /apis names, or undefined. */
export const targetOf = (registry: Registry, path: string): Target | undefined => {
  const segments = path.split('/').filter((segment) => segment !== '');
  const core = segments[0] === 'api';
  if (!core && segments[0] !== 'apis') return undefined;
  const apiVersion = core ? segments[1] : `${segments[1]}/${segments[2]}`;
  const rest = segments.slice(core ? 2 : 3);
  if (apiVersion === undefined || rest.length === 0) return undefined;
  // A namespace's own subresources share the prefix of what lies in it.
  const inside =
    rest[0] === 'namespaces' && rest.length >= 3 && !(core && rest.length === 3 && ['status', 'finalize'].includes(rest[2] ?? ''));
  const [plural = '', name, subresource, ...beyond] = inside ? rest.slice(2) : rest;
  const resource = registry.find(apiVersion, plural);
  if (!resource || beyond.length > 0 || (inside && !resource.namespaced)) return undefined;
  if (resource.namespaced && !inside && name !== undefined) return undefined;
  return { resource, namespace: inside ? decode(rest[1]) : undefined, name: decode(name), subresource };
};
