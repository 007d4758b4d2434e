import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type Address, fieldsOf } from '../../../machines/model/types.ts';
import { parsed } from '../../http/read.ts';

/** What a run has created, or is about to. It contains no secret. */
export interface State {
  /** Format version. */
  readonly probe: 1;
  /** Origin of the API. */
  readonly api: string;
  readonly droplets: readonly [number, number];
  readonly region: string;
  /** The created address; or while in doubt, when it was requested by the API's clock, ms since the epoch, and the addresses known before. */
  readonly address: { readonly made: Address } | { readonly known: readonly Address[]; readonly askedAt: number } | null;
  readonly record: { readonly zone: string; readonly name: string } | null;
  readonly rule: { readonly firewall: string; readonly port: number } | null;
}

/** A write-ahead state file: each write is recorded before it is sent. */
export class Book {
  state: State;
  readonly #file: string;

  constructor(file: string, state: State) {
    this.state = state;
    this.#file = file;
  }

  /** The created address. Only valid once the state has one. */
  get made(): Address {
    return (this.state.address as { readonly made: Address }).made;
  }

  /** Replaces the file atomically, so that a killed process leaves the old or the new one; the file is deleted with the last entry. */
  note(change: Partial<Pick<State, 'address' | 'record' | 'rule'>>): void {
    this.state = { ...this.state, ...change };
    const { address, record, rule } = this.state;
    const draft = `${this.#file}.new`;
    if (address ?? record ?? rule) {
      writeFileSync(draft, `${JSON.stringify(this.state, null, 2)}\n`, { mode: 0o600, flush: true });
      renameSync(draft, this.#file);
    } else for (const file of [draft, this.#file]) rmSync(file, { force: true });
  }
}

const IP = '"[\\d.]{7,15}"';
/** A state as JSON. Resources it names are written to, so it may only name resources that this command creates. */
const FORM = new RegExp(
  [
    '^{"probe":1,"api":"[^"]*","droplets":\\[\\d+,\\d+],"region":"[^"]*"',
    `"address":(null|{"made":${IP}}|{"known":\\[(${IP},?)*],"askedAt":\\d+})`,
    '"record":(null|{"zone":"[\\w.-]+","name":"routedip-probe-\\w+"})',
    '"rule":(null|{"firewall":"[^"]+","port":\\d+})}$',
  ].join(','),
);

/** Null for an empty file: nothing had been created yet. @throws Error for a file that is not a state file */
export function readState(file: string): State | null {
  const text = readFileSync(file, 'utf8');
  if (text === '') return null;
  const { probe, api, droplets, region, address, record, rule } = fieldsOf(parsed(text));
  const state = { probe, api, droplets, region, address, record, rule };
  if (!FORM.test(JSON.stringify(state))) throw new Error(`${file} is no state file of this command`);
  return state as State;
}
