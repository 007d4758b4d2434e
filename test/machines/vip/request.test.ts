import { describe, expect, test } from 'vitest';
import type { VipService } from '../../../machines/vip/objects.ts';
import { requestOf } from '../../../machines/vip/request.ts';
import { frozen } from '../builders.ts';

const service = (deviations: Partial<VipService> = {}): VipService =>
  frozen({
    ref: { kind: 'Service', namespace: 'test', name: 'web', uid: 'u1' },
    createdAt: 1_700_000_000_000,
    wanting: true,
    deleting: false,
    guarded: false,
    ingress: [],
    loadBalancerIP: '',
    requestedIP: null,
    pinnedGroup: null,
    family: 4,
    ...deviations,
  } as VipService);

const UNPARSABLE = {
  kind: 'refused',
  reason: 'AllocationFailed',
  message: 'failed to allocate specific ip: the requested ip could not be parsed',
};

describe('a Service', () => {
  test('that names no address asks for any, of any group, since it was created', () => {
    expect(requestOf(service())).toEqual({ kind: 'wish', address: null, group: null, family: 4, preferred: [], since: 1_700_000_000_000 });
  });

  test('asks for the address of spec.loadBalancerIP', () => {
    expect(requestOf(service({ loadBalancerIP: '1.1.2.4' }))).toMatchObject({ address: '1.1.2.4' });
  });

  test('asks for the address of its annotation', () => {
    expect(requestOf(service({ requestedIP: '1.1.2.4' }))).toMatchObject({ address: '1.1.2.4' });
  });

  test('may name one address in both places, in different spellings', () => {
    expect(requestOf(service({ requestedIP: '2001:DB8:0::1', loadBalancerIP: '2001:db8::1' }))).toMatchObject({
      kind: 'wish',
      address: '2001:db8::1',
    });
  });

  test('that names two addresses is refused as conflicting, and told both', () => {
    expect(requestOf(service({ requestedIP: '1.1.2.4', loadBalancerIP: '1.1.2.5' }))).toEqual({
      kind: 'refused',
      reason: 'ConflictingRequest',
      message: expect.stringMatching(/ips\.paas\.org\/requested-ip asks for 1\.1\.2\.4, spec\.loadBalancerIP for 1\.1\.2\.5/),
    });
  });

  test('asks for nothing by empty texts', () => {
    expect(requestOf(service({ requestedIP: '', pinnedGroup: '' }))).toMatchObject({ kind: 'wish', address: null, group: null });
    expect(requestOf(service({ requestedIP: '', loadBalancerIP: '1.1.2.4' }))).toMatchObject({ address: '1.1.2.4' });
  });

  test.each([' 1.1.1.3', '1.1.1.3 ', '1.1.1', '1.1.1.999', '1.1.1.03', 'banana', '1.1.1.3/32', 'fe80::1%eth0', ' '])(
    'that asks for "%s" is refused with the text that scripts know, wherever it says so',
    (text) => {
      expect(requestOf(service({ loadBalancerIP: text }))).toEqual(UNPARSABLE);
      expect(requestOf(service({ requestedIP: text }))).toEqual(UNPARSABLE);
      expect(requestOf(service({ requestedIP: '1.1.1.3', loadBalancerIP: text }))).toEqual(UNPARSABLE);
      expect(requestOf(service({ requestedIP: text, loadBalancerIP: text }))).toEqual(UNPARSABLE);
    },
  );

  test('that asks for ::1 is understood: whether a group has it is not said here', () => {
    expect(requestOf(service({ loadBalancerIP: '::1' }))).toMatchObject({ kind: 'wish', address: '::1' });
  });

  test('may be pinned to a group, and be of a family or of one unknown', () => {
    expect(requestOf(service({ pinnedGroup: 'ipgroup-2', family: 6 }))).toMatchObject({ group: 'ipgroup-2', family: 6 });
    expect(requestOf(service({ family: null }))).toMatchObject({ family: null });
  });

  test('had the addresses that its ingress lists, in that order and canonical; names and what is no address count for nothing', () => {
    const ingress = [{ ip: '1.1.1.7' }, { ip: null }, { ip: 'banana' }, { ip: '2001:DB8::7' }, { ip: '1.1.1.2' }];
    expect(requestOf(service({ ingress }))).toMatchObject({ preferred: ['1.1.1.7', '2001:db8::7', '1.1.1.2'] });
  });
});
