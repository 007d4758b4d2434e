import type { ObjectRef } from '../machines/jobs.ts';
import { type Difference, fieldsOf, type JobFailure } from '../machines/types.ts';
import type { ReservedIP } from '../machines/vip.ts';
import { Withheld } from './errors.ts';
import type { Fence } from './ports/provider.ts';
import type { ActorRecord, Json } from './ports.ts';
import type { JobData } from './worker.ts';

/** The fence of an operator that only observes: it asks what any other does, and lets nothing through. */
export const closed = (fence: Fence, data: Pick<JobData, 'job' | 'input' | 'actor'>): Fence => ({
  read: () => fence.read(),
  assertFresh: () => {
    fence.assertFresh();
    throw new Withheld(differenceOf(data));
  },
});

/** What the job would change, by what it was given. */
function differenceOf({ job, input, actor }: Pick<JobData, 'job' | 'input' | 'actor'>): Difference {
  const { service, address, ips, owner, offer } = fieldsOf<Json>(input) as unknown as Partial<Given>;
  switch (job) {
    case 'intendCreate':
    case 'create':
      if (offer) return { what: 'allocate', subject: offer.address, from: null, to: nameOf(owner) };
      return { what: 'create', subject: 'a new address', from: null, to: nameOf(owner) };
    case 'reserveVip':
      return { what: 'allocate', subject: address ?? '', from: null, to: nameOf(service) };
    case 'freeVips':
    case 'releaseVip':
      return {
        what: 'release',
        subject: (ips ?? []).map((ip) => ip.address).join(', ') || 'the finalizer',
        from: nameOf(service),
        to: null,
      };
    default:
      return { what: 'run', subject: `job ${job}`, from: null, to: actor };
  }
}

interface Given {
  readonly service: ObjectRef;
  readonly owner: ObjectRef;
  readonly address: string | null;
  readonly ips: readonly ReservedIP[];
  readonly offer: { readonly address: string } | null;
}

const nameOf = (ref: ObjectRef | undefined): string | null => (ref ? `${ref.kind} ${ref.namespace}/${ref.name}` : null);

/** What is withheld that an actor waits for now. */
export function withheldIn({ snapshot }: ActorRecord): readonly Difference[] {
  const { failure, acquiring } = fieldsOf(snapshot.context);
  return [failure, fieldsOf(acquiring).failure].flatMap((each) => (fieldsOf(each) as unknown as Partial<JobFailure>).withheld ?? []);
}
