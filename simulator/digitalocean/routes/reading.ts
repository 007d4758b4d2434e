import { viewAt } from '../addresses.ts';
import type { Cloud } from '../cloud.ts';
import type { ReservedIP } from '../model.ts';
import { notFound } from '../refusal.ts';
import { type AddressView, present } from '../render.ts';
import { param, type RouteRequest } from '../router.ts';

type Render = (cloud: Cloud, address: ReservedIP, view: AddressView) => Record<string, unknown>;

type Shown = readonly [address: ReservedIP, view: AddressView];

/** What a read shows of the addresses that there are, or were at the time shown. */
function shown({ cloud, readAt }: RouteRequest, isAsked: (address: ReservedIP) => boolean): readonly Shown[] {
  const all = readAt === null ? [...cloud.reservedIPs.values()] : [...cloud.reservedIPs.values(), ...cloud.deletedIPs];
  return all.filter(isAsked).flatMap((address) => {
    const view = readAt === null ? present(address) : viewAt(cloud, address, readAt);
    const isHidden = address.brought && view !== null && view.dropletId === null && !view.locked;
    return view === null || isHidden ? [] : [[address, view] as const];
  });
}

/** Every address of the family. */
export const readAll = (request: RouteRequest, family: 4 | 6): readonly Shown[] =>
  shown(request, ({ family: of, token }) => of === family && (token === null || token === request.token));

/** The address that the path names. @throws Refusal 404 */
export function readOne(request: RouteRequest, family: 4 | 6, render: Render): Record<string, unknown> {
  const ip = param(request, 'ip');
  const [found] = shown(request, (address) => address.ip === ip && address.family === family);
  if (found === undefined) throw notFound();
  return render(request.cloud, ...found);
}
