import { type Document, stringify } from 'yaml';
import type { CustomResourceDefinition } from './print-types.ts';
import { storageVersion } from './reference-page.ts';

/** What Chart.yaml says that is said elsewhere first. */
export interface ChartSources {
  readonly version: string;
  /** The text of the picture. */
  readonly icon: string;
  /** Of the kinds that the chart installs. */
  readonly definitions: readonly CustomResourceDefinition[];
  /** An object of each kind that has an example. */
  readonly examples: readonly unknown[];
}

/** A list within an annotation, as Artifact Hub reads it. */
export const listed = (items: readonly unknown[]): string => stringify(items, { lineWidth: 0 });

const cardOf = (definition: CustomResourceDefinition) => {
  const { group, names } = definition.spec;
  const { name: version, schema } = storageVersion(definition);
  const [description = ''] = (schema.openAPIV3Schema.description ?? '').split(/(?<=\.)\s/);
  return { kind: names.kind, version, name: `${names.plural}.${group}`, displayName: names.kind, description: description.trim() };
};

/** Writes into Chart.yaml what follows from elsewhere, and leaves the rest, comments too. The icon stands in it whole: there is no page that it could be fetched from. */
export const complete = (chart: Document, { version, icon, definitions, examples }: ChartSources): void => {
  chart.set('version', version);
  chart.set('appVersion', version);
  chart.set('icon', `data:image/svg+xml;base64,${Buffer.from(icon).toString('base64')}`);
  chart.setIn(['annotations', 'artifacthub.io/crds'], listed(definitions.map(cardOf)));
  chart.setIn(['annotations', 'artifacthub.io/crdsExamples'], listed(examples));
};
