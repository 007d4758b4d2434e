import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type Address, fieldsOf } from '../../../machines/model/types.ts';
import { parsed } from '../../http/read.ts';

/** What a run has made, or is about to. It bears no secret. */
export interface State {
  /** Of this form. */
  readonly probe: 1;
  /** Where the API is. */
  readonly api: string;
  readonly droplets: readonly [number, number];
  readonly region: string;
  /** Made; or asked for at that time by the clock of the API, ms since the epoch, where the known ones were there before. */
  readonly address: { readonly made: Address } | { readonly known: readonly Address[]; readonly askedAt: number } | null;
  readonly record: { readonly zone: string; readonly name: string } | null;
  readonly rule: { readonly firewall: string; readonly port: number } | null;
}

/** A state in a file, that is ahead of what is done: each write is noted before it is sent. */
export class Book {
  state: State;
  readonly #file: string;

  constructor(file: string, state: State) {
    this.state = state;
    this.#file = file;
  }

  /** The address that was made. To be asked for only once the state holds one. */
  get made(): Address {
    return (this.state.address as { readonly made: Address }).made;
  }

  /** The file is replaced as a whole, so that whoever ends this process leaves the old or the new one; it goes with the last entry. */
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
/** A state as JSON. What it names is written to: so it names nothing but what this command makes. */
const FORM = new RegExp(
  [
    '^{"probe":1,"api":"[^"]*","droplets":\\[\\d+,\\d+],"region":"[^"]*"',
    `"address":(null|{"made":${IP}}|{"known":\\[(${IP},?)*],"askedAt":\\d+})`,
    '"record":(null|{"zone":"[\\w.-]+","name":"routedip-probe-\\w+"})',
    '"rule":(null|{"firewall":"[^"]+","port":\\d+})}$',
  ].join(','),
);

/** Null for an empty file: nothing had been made yet. @throws Error for a file that is none of these */
export function readState(file: string): State | null {
  const text = readFileSync(file, 'utf8');
  if (text === '') return null;
  const { probe, api, droplets, region, address, record, rule } = fieldsOf(parsed(text));
  const state = { probe, api, droplets, region, address, record, rule };
  if (!FORM.test(JSON.stringify(state))) throw new Error(`${file} is no state file of this command`);
  return state as State;
}
