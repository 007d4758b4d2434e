import { Allocator } from '../../../actors/vip/allocator.ts';
import type { VipRequest } from '../../../actors/vip/wait-queue.ts';
import type { Address } from '../../../machines/model/types.ts';
import { type InvalidGroup, type ParsedGroup, parseGroup } from '../../../machines/vip/ip-group.ts';

export const group = (name: string, segment: string, excludedIPs: readonly string[] = []): ParsedGroup | InvalidGroup =>
  parseGroup(name, { segment, excludedIPs });

/** One that asks for any address; the later of two that are made is the younger. */
export const request = (key: string, deviations: Partial<Omit<VipRequest, 'address' | 'preferred'>> & Wanted = {}): VipRequest =>
  ({ key, address: null, group: null, family: null, preferred: [], since: 0, ...deviations }) as VipRequest;

interface Wanted {
  readonly address?: string | null;
  readonly preferred?: readonly string[];
}

/** An allocator with these groups. Texts stand for addresses. */
export function allocatorOf(...groups: readonly (ParsedGroup | InvalidGroup)[]) {
  const allocator = new Allocator();
  for (const one of groups) allocator.putGroup(one);
  let age = 0;
  return {
    allocator,
    /** Asks, younger than all before. */
    ask: (key: string, deviations: Parameters<typeof request>[1] = {}) => allocator.ask(request(key, { since: ++age, ...deviations })),
    /** An IP object shows up. */
    take: (address: string, owner: string | null, label: string | null = null) => allocator.take(address as Address, owner, label),
    give: (address: string) => allocator.give(address as Address),
    /** `1.1.1.1 of a`, or the message of the refusal; null when it did not ask. */
    of: (key: string): string | null => {
      const verdict = allocator.verdict(key);
      return verdict?.kind === 'offered' ? `${verdict.address} of ${verdict.group}` : (verdict?.message ?? null);
    },
    reason: (key: string): string | null => {
      const verdict = allocator.verdict(key);
      return verdict?.kind === 'refused' ? verdict.reason : null;
    },
    /** Reserves what is offered, as the cell of the Service does. */
    reserve: (key: string): string => {
      const verdict = allocator.verdict(key);
      if (verdict?.kind !== 'offered') throw new Error(`${key} was offered nothing: ${verdict?.message}`);
      allocator.take(verdict.address, key, verdict.group);
      return verdict.address;
    },
  };
}
