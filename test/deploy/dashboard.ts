import { readFileSync } from 'node:fs';

export interface Target {
  readonly expr: string;
  readonly legendFormat?: string;
  readonly datasource: { readonly uid: string };
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly transformations?: readonly { readonly options: { readonly renameByName?: Readonly<Record<string, string>> } }[];
}

/** The dashboard for Grafana, as far as tests look into it. */
export const dashboard = JSON.parse(readFileSync(new URL('../../deploy/grafana/routedip-operator.json', import.meta.url), 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
};
