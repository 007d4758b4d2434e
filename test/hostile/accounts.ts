import { ProviderError } from '../../actors/ports/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import { PROVIDER, type World } from '../support/world.ts';

/** What a Secret of the attacker may hold: a token that the provider refuses, one of another account, or none at all. */
export type Holds = 'refused' | 'foreign' | 'garbage' | 'nothing';

/** Every verb answers as `answer` says. */
const answering = (provider: Provider, answer: (verb: string) => Promise<unknown>): Provider =>
  new Proxy(provider, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? () => answer(String(name)) : member;
    },
  });

const refusing = (provider: Provider): Provider =>
  answering(provider, (verb) => Promise.reject(new ProviderError('Unauthorized', `${verb}: 401`)));

/** An account that has nothing, and may have nothing. */
const empty = (provider: Provider): Provider =>
  answering(provider, (verb) => {
    if (verb.startsWith('list')) return Promise.resolve([]);
    return verb === 'findNode' ? Promise.resolve('gone') : Promise.reject(new ProviderError('NotFound', `${verb}: 404`));
  });

/** What the operator knows of the account of such a Secret. */
export function accountOf(holds: Holds, { provider, facts }: Pick<World, 'provider' | 'facts'>) {
  const missing = (why: string) => ({ facts: { ...facts, missing: why }, provider: null });
  if (holds === 'nothing') return missing('the Secret is not there');
  if (holds === 'garbage') return missing('what the Secret holds is no token');
  const own = provider.process();
  return { facts, provider: holds === 'refused' ? refusing(own) : empty(own) };
}

export const secretKey = (namespace: string, name: string): string => `${PROVIDER}@${namespace}.${name}`;
