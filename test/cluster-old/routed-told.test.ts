import { describe, expect, test } from 'vitest';
import { at, isObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, GROUP, routedStageOnce } from '../e2e/routed.ts';
import { NAMESPACE } from '../e2e/routed-objects.ts';

const RANGE = 'nodePortRange must be first-last or first+count within 1-65535, first not above last, such as 30000-32767';

describe('a user of a server that knows no rules', () => {
  const routed = routedStageOnce();

  test('is told of a wrong range by the condition, in the words of the rule', async () => {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.stage.start();
    const metadata = { name: 'wrong', namespace: NAMESPACE };
    const spec = { issuerClass: 'digitalocean', region: 'nyc3', fromSecretsRef: [{ name: 'token' }], nodePortRange: '40000-30000' };
    await world.put({ apiVersion: GROUP, kind: 'RoutedIPIssuer', metadata, spec });
    const told = async () => {
      const found = await world.stage.target.client.get({ apiVersion: GROUP, kind: 'RoutedIPIssuer', ...metadata });
      const conditions = [at(found, 'status', 'conditions') ?? []].flat().filter(isObject);
      return conditions.find(({ reason }) => reason === 'InvalidSpec')?.message;
    };
    await world.stage.until('it is looked at', async () => (await told()) !== undefined);
    expect(await told()).toContain(RANGE);
  });
});
