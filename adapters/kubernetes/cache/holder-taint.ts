import type { HolderEffect } from '../../../actors/ports/cluster.ts';
import { HOLDER_TAINT, type Taint } from '../../../machines/model/types.ts';

const EFFECTS: readonly HolderEffect[] = ['PreferNoSchedule', 'NoSchedule'];

/** The effect of the operator's own taint; null for any other taint. Ours has no value and never evicts: a taint with the same key that does is not ours. */
export const holderEffectOf = ({ key, value = '', effect }: Taint): HolderEffect | null =>
  key === HOLDER_TAINT && value === '' ? (EFFECTS.find((each) => each === effect) ?? null) : null;
