import type { Api } from '../api.ts';
import { ApiError, forbidden } from '../errors.ts';
import { at, type KubeObject } from '../objects.ts';
import type { Asked, Attributes } from './attributes.ts';
import { Policy, type Violation } from './policy.ts';
import { REASONS } from './rules.ts';

const GROUP = 'admissionregistration.k8s.io';
const POLICIES = `validatingadmissionpolicies.${GROUP}`;
const BINDINGS = `validatingadmissionpolicybindings.${GROUP}`;

interface Bound {
  name: string;
  binding: string;
  actions: string[];
  policy: Policy;
}

/** The ValidatingAdmissionPolicies that are bound, asked about every write of a user. Here they hold from the moment they are stored; a real server takes some seconds. */
export class Policies {
  readonly #api: Api;
  #bound: readonly Bound[] | undefined;

  constructor(api: Api) {
    this.#api = api;
  }

  start(): void {
    this.#api.onChange(({ storage }) => {
      if (storage === POLICIES || storage === BINDINGS) this.#bound = undefined;
    });
    this.#api.admitBy((attributes, asked) => this.#admit(attributes, asked));
  }

  #admit(attributes: Attributes, asked: Asked): void {
    const { user, warnings } = asked;
    // Policies do not judge their own kind: one that forbids all could not be taken away.
    if (user === undefined || attributes.resource.group === GROUP) return;
    this.#bound ??= this.#compiled();
    for (const { name, binding, actions, policy } of this.#bound) {
      const found = policy.violation(attributes, asked, user);
      if (found === undefined) continue;
      if (actions.includes('Warn')) {
        warnings?.push(`Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${binding}': ${found.message}`);
      }
      if (actions.includes('Deny')) {
        throw denial(attributes, found, `ValidatingAdmissionPolicy '${name}' with binding '${binding}' denied request: ${found.message}`);
      }
    }
  }

  #compiled(): Bound[] {
    const policies = new Map(this.#stored(POLICIES).map((object) => [object.metadata.name, object]));
    return this.#stored(BINDINGS).flatMap((binding) => {
      const object = policies.get(String(at(binding, 'spec', 'policyName')));
      const actions = at(binding, 'spec', 'validationActions');
      if (object === undefined) return [];
      return [
        {
          name: object.metadata.name ?? '',
          binding: binding.metadata.name ?? '',
          actions: Array.isArray(actions) ? actions.map(String) : [],
          policy: new Policy(object),
        },
      ];
    });
  }

  #stored(storage: string): KubeObject[] {
    return this.#api.store.list(storage).entries.map(({ object }) => object);
  }
}

/** A refusal is worded as a forbidden one, whatever reason and code the rule gives it. */
const denial = ({ resource, object, old }: Attributes, { reason }: Violation, text: string): ApiError => {
  const { message: worded, details } = forbidden(resource, (object ?? old)?.metadata.name ?? '', text);
  return new ApiError(REASONS[reason] ?? 422, reason, worded, { ...details, causes: [{ message: text }] });
};
