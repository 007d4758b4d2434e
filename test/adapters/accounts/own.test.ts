import { describe, expect, test } from 'vitest';
import type { ProviderNeed } from '../../../actors/ports/directory.ts';
import { driver, ref, scriptedAccounts, TEMPLATES } from './support.ts';

const TOKEN = 'dop_v1_0123456789abcdef';
const OTHER = 'dop_v1_other_0123456789';
const SECOND = 'dop_v1_second_0123456789';

describe('the operator’s own account with its token in a Secret', () => {
  const OWN = ref('routedip-operator/tokens');
  const own: ProviderNeed = { key: 'digitalocean', cloud: 'digitalocean', secrets: [OWN], templates: null };
  const opening = () => {
    const given = scriptedAccounts({ standing: {}, jobDriver: driver });
    given.accounts.need('operator/digitalocean', own);
    return given;
  };

  test('is worked with by the token under the name of its variable, and by no other', () => {
    const { secrets, opened, of } = opening();
    expect(of('digitalocean')?.unread).toBe(true);
    secrets.set('routedip-operator/tokens', { token: OTHER });
    const missing = 'Secret routedip-operator/tokens has no key DIGITALOCEAN_ACCESS_TOKEN';
    expect(of('digitalocean')).toMatchObject({ provider: null, facts: { missing } });
    secrets.set('routedip-operator/tokens', { token: OTHER, DIGITALOCEAN_ACCESS_TOKEN: TOKEN });
    expect(of('digitalocean')?.facts.missing).toBeNull();
    expect(opened.map(({ token }) => token)).toEqual([TOKEN]);
  });

  test('is another client after a change, for classes that use it besides their Jobs too, and the former one is closed', () => {
    const { accounts, secrets, opened, told, of } = opening();
    const mixed = 'digitalocean@class.edge';
    accounts.need('class edge', { key: mixed, cloud: 'digitalocean', secrets: [], templates: TEMPLATES });
    expect(of(mixed)).toMatchObject({
      provider: null,
      unread: true,
      facts: { missing: 'Secret routedip-operator/tokens has not been read yet' },
    });
    secrets.set('routedip-operator/tokens', { DIGITALOCEAN_ACCESS_TOKEN: TOKEN });
    const former = [of('digitalocean')?.provider, of(mixed)?.provider];
    expect(former.map((provider) => provider?.name)).toEqual(['digitalocean', 'digitalocean']);
    told.length = 0;
    secrets.set('routedip-operator/tokens', { DIGITALOCEAN_ACCESS_TOKEN: SECOND });
    expect([...told].sort()).toEqual(['digitalocean', mixed]);
    expect([of('digitalocean')?.provider, of(mixed)?.provider].some((provider) => former.includes(provider))).toBe(false);
    expect(opened.map(({ token, closed }) => [token, closed])).toEqual([
      [TOKEN, true],
      [SECOND, false],
    ]);
  });

  test('goes on with the last token while there is none: a key that is missing for a moment stops no failover', () => {
    const { secrets, opened, told, of, log } = opening();
    secrets.set('routedip-operator/tokens', { DIGITALOCEAN_ACCESS_TOKEN: TOKEN });
    const { provider } = of('digitalocean') ?? {};
    told.length = 0;
    for (const gone of [
      () => secrets.remove('routedip-operator/tokens'),
      () => secrets.set('routedip-operator/tokens', { DIGITALOCEAN_ACCESS_TOKEN: 'e' }),
    ]) {
      gone();
      expect(of('digitalocean')).toMatchObject({ provider, facts: { missing: null } });
    }
    expect([told, opened.map(({ closed }) => closed)]).toEqual([[], [false]]);
    expect(log.lines.filter((line) => line.includes('a token of the operator is gone'))).toHaveLength(2);
    secrets.set('routedip-operator/tokens', { DIGITALOCEAN_ACCESS_TOKEN: SECOND });
    expect(opened.map(({ token, closed }) => [token, closed])).toEqual([
      [TOKEN, true],
      [SECOND, false],
    ]);
  });

  test('may be asked for without a Secret, and follows nobody then', () => {
    const { accounts, of } = scriptedAccounts({ standing: {} });
    accounts.need('x', { key: 'digitalocean', cloud: 'digitalocean', secrets: [], templates: null });
    expect(of('digitalocean')).toMatchObject({ provider: null, facts: { missing: 'it has no credentials' } });
  });
});
