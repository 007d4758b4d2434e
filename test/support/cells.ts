import { charts } from '../../actors/controllers/chart-registry.ts';
import type { Queues } from '../../actors/ports/queues.ts';
import type { Clock, RecordStore } from '../../actors/ports/records.ts';
import { DEFAULT_SETTINGS } from '../../actors/ports/settings.ts';
import { Cells } from '../../actors/runtime/cell-registry.ts';
import { firewallOf } from '../../machines/model/actor-id.ts';

const ignore = (): void => undefined;

/** The cells of a term, with nobody around who hears of them. */
export const cellsOn = (parts: { readonly store: RecordStore; readonly queues: Queues; readonly clock: Clock }, term = 1): Cells =>
  new Cells(term, {
    ...parts,
    charts: charts(DEFAULT_SETTINGS, () => term),
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    probe: ignore,
    observers: [],
    settings: DEFAULT_SETTINGS,
    listAsked: ignore,
    nodesOf: () => [],
    firewallInput: (id) => ({ id, provider: firewallOf(id).provider, firewall: firewallOf(id).name }),
    gone: ignore,
    halted: ignore,
  });
