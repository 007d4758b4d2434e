import fc from 'fast-check';
import type { Json } from '../../../actors/ports/records.ts';
import type { Adoption, ObjectRef } from '../../../machines/model/types.ts';
import { CLASS_NAME } from '../../actors/routedip/world.ts';
import { type OperatorProcess, PROVIDER } from '../../support/world.ts';
import { type Domain, exactly, index, of, type Played, type Stage } from '../domain.ts';
import { FIREWALLS, ISSUER } from '../history.ts';

/** What a class or an issuer says. */
export interface PolicyRules {
  /** Of its two firewalls; null for none. */
  readonly firewall: number | null;
  readonly postAllow: boolean;
  readonly taint: 'PreferNoSchedule' | 'NoSchedule' | 'None';
  readonly reclaim: 'Retain' | 'Delete';
  readonly coolOffSeconds: number;
  readonly graceSeconds: number;
  /** Absent for any. */
  readonly adoption?: Adoption;
}

export type PolicyHappening =
  | { readonly kind: 'policy'; readonly policy: number; readonly change: Partial<PolicyRules> }
  | { readonly kind: 'breakPolicy' | 'mendPolicy' | 'removePolicy' | 'makePolicy'; readonly policy: number }
  | { readonly kind: OfSecret };

type OfSecret = 'secretGoes' | 'secretComes' | 'refuseToken' | 'newToken';

/** What the issuer's Secret is known under. */
const KEY = `${PROVIDER}@web.token`;

const TEMPLATE: Json = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8' }] } } };

interface PolicyNow {
  rules: PolicyRules;
  isBroken: boolean;
  ref: ObjectRef | null;
}

/** A class that uses the operator's own token, an issuer with a Secret, and what is done to them. */
export class PlayedPolicies implements Played<PolicyHappening> {
  readonly #stage: Stage;
  readonly #policies: readonly PolicyNow[];
  #isSecretThere = true;

  constructor(stage: Stage, setups: readonly PolicyRules[]) {
    this.#stage = stage;
    this.#policies = setups.map((rules) => ({ rules, isBroken: false, ref: null }));
    for (const index of this.#policies.keys()) this.#apply(index);
    // The issuer is seen, and so asks for its account, before anybody can lead.
    const unread = {
      facts: { ...stage.world.facts, missing: 'Secret web/token has not been read yet' },
      provider: null,
      unread: true,
    } as const;
    stage.begins.push(({ providers }) => providers.set(KEY, unread));
    stage.started.push((process) => this.#tell(process));
  }

  act(what: PolicyHappening): void {
    if (!('policy' in what)) {
      this.#ofSecret(what.kind);
      return;
    }
    const policy = this.#policies[what.policy];
    if (!policy) return;
    if (what.kind === 'removePolicy') {
      if (policy.ref) this.#stage.world.cluster.removePolicy(policy.ref);
      policy.ref = null;
      return;
    }
    if (what.kind === 'policy') policy.rules = { ...policy.rules, ...what.change };
    else policy.isBroken = what.kind === 'breakPolicy';
    if (policy.ref || what.kind === 'makePolicy') this.#apply(what.policy);
  }

  #ofSecret(kind: OfSecret): void {
    const { faults } = this.#stage.world.provider;
    if (kind === 'refuseToken') faults.always('any', { kind: 'refuse', error: 'Unauthorized' });
    else if (kind === 'newToken') faults.clear();
    else this.#isSecretThere = kind === 'secretComes';
    if (kind !== 'refuseToken') for (const process of this.#stage.world.processes) this.#tell(process);
  }

  /** A process reads the Secret. */
  #tell({ providers }: OperatorProcess): void {
    const own = providers.all[PROVIDER];
    if (!own) return;
    const missing = { ...own.facts, missing: 'Secret web/token is not there' };
    // Other credentials are another client.
    const client = own.provider && { ...own.provider };
    providers.set(KEY, this.#isSecretThere ? { facts: own.facts, provider: client } : { facts: missing, provider: null });
  }

  adoptionOf(index: number): Adoption {
    return this.#policies[index]?.rules.adoption ?? 'Any';
  }

  /** Who may adopt nothing would wait for ever. */
  mend(): void {
    for (const [index, policy] of this.#policies.entries()) {
      policy.isBroken = false;
      if (policy.rules.adoption === 'Never') policy.rules = { ...policy.rules, adoption: 'Unassigned' };
      this.#apply(index);
    }
    this.#isSecretThere = true;
    this.#ofSecret('newToken');
  }

  #apply(index: number): void {
    const policy = this.#policies[index];
    if (!policy) return;
    const { firewall, postAllow, taint, reclaim, coolOffSeconds, graceSeconds } = policy.rules;
    const spec: { readonly [field: string]: Json } = {
      region: 'nyc3',
      firewallPostAllow: postAllow,
      taintEffect: taint,
      routedIPReclaimPolicy: reclaim,
      assignmentCoolOffSeconds: coolOffSeconds,
      recoveryGraceSeconds: graceSeconds,
      adoption: this.adoptionOf(index),
      perNodeIPLimit: policy.isBroken ? 0 : this.#stage.history.perNode,
      ...(firewall !== null && { routedIPFirewallName: FIREWALLS[2 * index + firewall] ?? '' }),
    };
    const templates = this.#stage.history.routed?.jobs ? { updateRoutedIP: TEMPLATE } : {};
    policy.ref =
      index === 0
        ? this.#stage.world.cluster.setPolicy({
            kind: 'ClusterRoutedIPClass',
            name: 'floating',
            spec: { className: CLASS_NAME, ...templates, ...spec },
          })
        : this.#stage.world.cluster.setPolicy({
            kind: 'RoutedIPIssuer',
            namespace: 'web',
            name: ISSUER,
            spec: { issuerClass: PROVIDER, fromSecretsRef: [{ name: 'token' }], ...spec },
          });
  }
}

/** A class, and an issuer with a Secret of its own. */
const POLICIES = 2;
const policy = index(POLICIES);
const firewall = fc.constantFrom(0, 0, 1, null);
const taint = fc.constantFrom<PolicyRules['taint']>('PreferNoSchedule', 'NoSchedule', 'None');
const reclaim = fc.constantFrom<PolicyRules['reclaim']>('Retain', 'Delete');
const postAllow = fc.boolean();
const adoption = fc.constantFrom<Adoption>('Any', 'Unassigned', 'Unassigned', 'Never');

export const policySetups: fc.Arbitrary<readonly PolicyRules[]> = exactly(
  POLICIES,
  fc.record({
    ...{ firewall, postAllow, taint, reclaim, adoption },
    coolOffSeconds: fc.constantFrom(0, 0, 0, 5),
    graceSeconds: fc.constantFrom(0, 0, 10),
  }),
);

export const POLICIES_DOMAIN: Domain<PolicyHappening, PlayedPolicies> = {
  sorts: [
    {
      weight: 3,
      arbitrary: fc.record({
        ...{ kind: of('policy'), policy },
        change: fc.oneof(
          fc.record({ firewall }),
          fc.record({ postAllow }),
          fc.record({ taint }),
          fc.record({ reclaim }),
          fc.record({ adoption }),
        ),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: of('breakPolicy', 'mendPolicy', 'removePolicy', 'makePolicy'), policy }) },
    { weight: 2, arbitrary: fc.record({ kind: of('secretGoes', 'secretComes', 'refuseToken', 'newToken') }) },
  ],
  open: (stage) => new PlayedPolicies(stage, stage.history.routed?.policies ?? []),
};
