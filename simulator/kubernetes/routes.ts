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

/** The path below its API version, without a leading namespace. */
const withoutNamespace = (rest: readonly string[], core: boolean): { namespace: string | undefined; inner: readonly string[] } => {
  // The subresources of a namespace itself share the prefix of what lies in it.
  const own = core && rest.length === 3 && ['status', 'finalize'].includes(rest[2] ?? '');
  if (rest[0] !== 'namespaces' || rest.length < 3 || own) return { namespace: undefined, inner: rest };
  return { namespace: decode(rest[1]), inner: rest.slice(2) };
};

/** The resource that a path below /api or /apis names, or undefined. */
export const targetOf = (registry: Registry, path: string): Target | undefined => {
  const segments = path.split('/').filter((segment) => segment !== '');
  const core = segments[0] === 'api';
  if (!core && segments[0] !== 'apis') return undefined;
  const depth = core ? 2 : 3;
  const { namespace, inner } = withoutNamespace(segments.slice(depth), core);
  const [plural = '', name, subresource, ...beyond] = inner;
  const resource = registry.find(segments.slice(1, depth).join('/'), plural);
  if (!resource || beyond.length > 0) return undefined;
  const placed = resource.namespaced ? namespace !== undefined || name === undefined : namespace === undefined;
  return placed ? { resource, namespace, name: decode(name), subresource } : undefined;
};
