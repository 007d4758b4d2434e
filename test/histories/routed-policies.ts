import type { Json } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { CLASS_NAME, type RoutedWorld } from '../actors/routed-world.ts';
import { type OperatorProcess, PROVIDER } from '../support/world.ts';
import { FIREWALLS, type PolicyRules, type RoutedHappening, type RoutedHistory } from './routed-steps.ts';

/** What the issuer's Secret is known under. */
const KEY = `${PROVIDER}@web.token`;
export const ISSUER = 'own';

interface PolicyNow {
  rules: PolicyRules;
  isBroken: boolean;
  ref: ObjectRef | null;
}

type Act = Extract<
  RoutedHappening,
  { readonly policy: number; readonly kind: 'policy' | 'breakPolicy' | 'mendPolicy' | 'removePolicy' | 'makePolicy' }
>;
export type OfSecret = 'secretGoes' | 'secretComes' | 'refuseToken' | 'newToken';

/** A class that uses the operator's own token, an issuer with a Secret, and what is done to them. */
export class RoutedPolicies {
  readonly #world: RoutedWorld;
  readonly #perNode: number;
  readonly #policies: readonly PolicyNow[];
  #isSecretThere = true;

  constructor(world: RoutedWorld, { policies, perNode }: RoutedHistory) {
    this.#world = world;
    this.#perNode = perNode;
    this.#policies = policies.map((rules) => ({ rules, isBroken: false, ref: null }));
    for (const index of this.#policies.keys()) this.#apply(index);
  }

  act(what: Act): void {
    const policy = this.#policies[what.policy];
    if (!policy) return;
    if (what.kind === 'removePolicy') {
      if (policy.ref) this.#world.cluster.removePolicy(policy.ref);
      policy.ref = null;
      return;
    }
    if (what.kind === 'policy') policy.rules = { ...policy.rules, ...what.change };
    else policy.isBroken = what.kind === 'breakPolicy';
    if (policy.ref || what.kind === 'makePolicy') this.#apply(what.policy);
  }

  ofSecret(kind: OfSecret): void {
    const { faults } = this.#world.provider;
    if (kind === 'refuseToken') faults.always('any', { kind: 'refuse', error: 'Unauthorized' });
    else if (kind === 'newToken') faults.clear();
    else this.#isSecretThere = kind === 'secretComes';
    if (kind !== 'refuseToken') for (const process of this.#world.processes) this.tell(process);
  }

  /** A process reads the Secret. */
  tell({ providers }: OperatorProcess): void {
    const own = providers.all[PROVIDER];
    if (!own) return;
    const missing = { ...own.facts, missing: 'Secret web/token is not there', missingReason: 'SecretNotFound' as const };
    // Other credentials are another client.
    const client = own.provider && { ...own.provider };
    providers.set(KEY, this.#isSecretThere ? { facts: own.facts, provider: client } : { facts: missing, provider: null });
  }

  mend(): void {
    for (const [index, policy] of this.#policies.entries()) {
      policy.isBroken = false;
      this.#apply(index);
    }
    this.#isSecretThere = true;
    this.ofSecret('newToken');
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
      perNodeIPLimit: policy.isBroken ? 0 : this.#perNode,
      ...(firewall !== null && { routedIPFirewallName: FIREWALLS[2 * index + firewall] ?? '' }),
    };
    policy.ref =
      index === 0
        ? this.#world.cluster.setPolicy({ kind: 'ClusterRoutedIPClass', name: 'floating', spec: { className: CLASS_NAME, ...spec } })
        : this.#world.cluster.setPolicy({
            kind: 'RoutedIPIssuer',
            namespace: 'web',
            name: ISSUER,
            spec: { issuerClass: PROVIDER, fromSecretsRef: [{ name: 'token' }], ...spec },
          });
  }
}
