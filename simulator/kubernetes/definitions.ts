import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { Api } from './api.ts';
import { allVerbs } from './builtins.ts';
import { at, copy, isObject, type Json, type JsonObject, type KubeObject, timestamp } from './objects.ts';
import type { Column, Resource } from './resource.ts';
import { customSchema } from './schema/custom.ts';

/** Definitions as objects, or as paths of YAML files that may hold several. */
export type CrdSource = readonly (object | string | URL)[];

export const readDefinitions = (source: CrdSource): Json[] =>
  source.flatMap((item) => {
    if (typeof item !== 'string' && !(item instanceof URL)) return [copy(item as JsonObject)];
    return parseAllDocuments(readFileSync(item, 'utf8'))
      .map((document) => document.toJS() as Json)
      .filter(isObject);
  });

const stringsAt = (value: Json | undefined, ...path: string[]): string[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.map(String) : [];
};

const columnsAt = (version: JsonObject): Column[] | undefined => {
  const columns = version.additionalPrinterColumns;
  return Array.isArray(columns) ? (columns as unknown as Column[]) : undefined;
};

const fieldsAt = (version: JsonObject): string[] => {
  const fields = version.selectableFields;
  return (Array.isArray(fields) ? fields : []).map((field) => String(at(field, 'jsonPath')).replace(/^\./, ''));
};

const resourceOf = (definition: KubeObject, version: JsonObject): Resource => {
  const group = String(at(definition, 'spec', 'group'));
  const kind = String(at(definition, 'spec', 'names', 'kind'));
  const plural = String(at(definition, 'spec', 'names', 'plural'));
  const versions = at(definition, 'spec', 'versions');
  const stored = (Array.isArray(versions) ? versions : []).find((candidate) => at(candidate, 'storage') === true);
  const columns = columnsAt(version);
  const schema = at(version, 'schema', 'openAPIV3Schema');
  const name = String(version.name);
  return {
    group,
    version: name,
    kind,
    listKind: String(at(definition, 'spec', 'names', 'listKind') ?? `${kind}List`),
    plural,
    singular: String(at(definition, 'spec', 'names', 'singular') ?? kind.toLowerCase()),
    shortNames: stringsAt(definition, 'spec', 'names', 'shortNames'),
    categories: stringsAt(definition, 'spec', 'names', 'categories'),
    namespaced: at(definition, 'spec', 'scope') === 'Namespaced',
    status: at(version, 'subresources', 'status') !== undefined,
    verbs: allVerbs,
    storage: `${plural}.${group}`,
    storageVersion: `${group}/${String(at(stored, 'name'))}`,
    custom: true,
    ...(columns ? { columns } : {}),
    ...(isObject(schema) ? { schema: customSchema({ kind, version: name }, schema) } : {}),
    selectableFields: fieldsAt(version),
  };
};

const condition = (type: string, reason: string, message: string): JsonObject => ({
  type,
  status: 'True',
  lastTransitionTime: timestamp(Date.now()),
  reason,
  message,
});

/** Serves the kinds of custom resource definitions from the moment they exist, and says so in their status. */
export class DefinitionController {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  start(): void {
    this.#api.onChange((resource, object, gone) => {
      if (resource.plural !== 'customresourcedefinitions') return;
      if (gone) this.#withdraw(object);
      else this.#serve(resource, object);
    });
  }

  #serve(resource: Resource, definition: KubeObject): void {
    const { registry } = this.#api;
    const versions = at(definition, 'spec', 'versions');
    const served = (Array.isArray(versions) ? versions : []).filter(isObject).filter((version) => version.served === true);
    registry.removeKind(String(at(definition, 'spec', 'group')), String(at(definition, 'spec', 'names', 'plural')));
    for (const version of served) {
      const kind = resourceOf(definition, version);
      registry.add(kind);
      this.#prune(kind);
    }
    if (at(definition, 'status', 'acceptedNames') !== undefined) return;
    const status = {
      conditions: [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
      acceptedNames: at(definition, 'spec', 'names') ?? null,
      storedVersions: (Array.isArray(versions) ? versions : [])
        .filter((version) => at(version, 'storage') === true)
        .map((version) => at(version, 'name') ?? null),
    };
    const patch = { type: 'application/merge-patch+json', body: { status } };
    this.#api.patch(resource, undefined, definition.metadata.name ?? '', patch, { subresource: 'status' });
  }

  /** A real server keeps what is stored, and drops from it what the definition does not know whenever it reads it. */
  #prune({ storage, storageVersion, group, version, schema }: Resource): void {
    if (!schema || storageVersion !== `${group}/${version}`) return;
    for (const { object } of this.#api.store.list(storage).entries) {
      const pruned = copy(object);
      if (schema.prune?.(pruned)) this.#api.store.put(storage, pruned);
    }
  }

  #withdraw(definition: KubeObject): void {
    const plural = String(at(definition, 'spec', 'names', 'plural'));
    const group = String(at(definition, 'spec', 'group'));
    const gone = this.#api.registry.all().find((resource) => resource.custom && resource.plural === plural && resource.group === group);
    if (gone) for (const { object } of this.#api.store.list(gone.storage).entries) this.#api.drop(gone, object);
    this.#api.registry.removeKind(group, plural);
  }
}
