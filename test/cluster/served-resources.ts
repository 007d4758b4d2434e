import type { Cluster } from '../support/kube.ts';

export interface Resource {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

/** Every resource and subresource in every served group and version. */
export const resourcesOf = async (server: Cluster): Promise<readonly Resource[]> => {
  const { body } = await server.send('/apis');
  const groups: readonly { name: string; versions: readonly { groupVersion: string }[] }[] = body.groups;
  const roots = [
    { group: '', path: '/api/v1' },
    ...groups.flatMap(({ name, versions }) => versions.map(({ groupVersion }) => ({ group: name, path: `/apis/${groupVersion}` }))),
  ];
  const found = new Map<string, Resource>();
  for (const { group, path } of roots) {
    const list: readonly { name: string }[] = (await server.send(path)).body.resources;
    for (const { name } of list) {
      const [resource = '', subresource = ''] = name.split('/');
      found.set(`${group}/${name}`, { group, resource, subresource });
    }
  }
  return [...found.values()];
};
