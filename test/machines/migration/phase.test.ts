import { describe, expect, test } from 'vitest';
import { NOTHING_AROUND } from '../../../machines/migration/decisions.ts';
import { isOvertaken, STATES, stageOf } from '../../../machines/migration/phase.ts';
import { CLONE_FINALIZER, type VirtualIP } from '../../../machines/vip/virtualip.ts';

const showing = (state: string, finalizers: readonly string[] = []): VirtualIP => ({
  ref: { kind: 'VirtualIP', namespace: 'default', name: 'vip', uid: '1' },
  deleting: false,
  asked: true,
  service: 'web',
  ip: '',
  finalizers,
  status: { state, message: '', ip: '1.1.2.2', service: 'web', keepalivedGroup: '', gsm: '', clonedService: '' },
});
const { valid, preparing, reassociating, assigning, migrated, exposing } = STATES;

describe('whoever goes by an old look does not say', () => {
  test.each([
    ['an earlier stage of a migration that has come further', reassociating, showing(assigning)],
    ['that it serves, of one whose migration has begun', valid, showing(reassociating)],
    ['that something is wrong, of one whose migration has begun', 'Error', showing(assigning)],
    ['the last stage, of one that is migrated', assigning, showing(migrated)],
    ['that it serves, of one that is migrated', valid, showing(migrated)],
  ])('%s', (_, state, shown) => expect(isOvertaken(state, shown)).toBe(true));
});

describe('it is said', () => {
  test.each([
    ['that it serves, where no migration has begun', valid, showing(exposing)],
    ['that it serves again, of one that is asked no more before anything was done', valid, showing(preparing)],
    ['the same stage once more', assigning, showing(assigning)],
    ['the next stage', assigning, showing(reassociating)],
    ['that it is migrated', migrated, showing(assigning)],
    ['any stage of one that was said to be migrated while something is held for it', reassociating, showing(migrated, [CLONE_FINALIZER])],
  ])('%s', (_, state, shown) => expect(isOvertaken(state, shown)).toBe(false));
});

test('one that is asked for no more, and may have claimed its Service, is taken up where the claim is withdrawn', () => {
  expect(stageOf({ ...showing(preparing), asked: false }, NOTHING_AROUND)).toBe('preparing');
});
