import { type Difference, fieldsOf, type JobFailure } from '../../machines/model/types.ts';
import type { ReservedIP } from '../../machines/vip/objects.ts';
import { Withheld } from '../ports/errors.ts';
import type { Fence } from '../ports/fence.ts';
import type { ActorRecord } from '../ports/records.ts';
import type { JobData } from '../runtime/queue-data.ts';

type Asked = Pick<JobData, 'job' | 'input' | 'actor'>;

/** The fence of an operator that only observes: it makes the same checks as any other, and lets nothing through. */
export const closed = (fence: Fence, asked: Asked): Fence => ({
  read: () => fence.read(),
  assertFresh: () => {
    fence.assertFresh();
    throw new Withheld(differenceOf(asked));
  },
});

/** What the job would change, judging by its input. */
function differenceOf({ job, input, actor }: Asked): Difference {
  const { address, ips = [], offer } = fieldsOf(input) as Partial<Given>;
  if (job === 'freeVips' || job === 'releaseVip')
    return { what: 'release', subject: ips.map((ip) => ip.address).join(', ') || 'its finalizer', from: actor, to: null };
  const taken = offer?.address ?? (job === 'reserveVip' ? address : null);
  if (taken) return { what: 'allocate', subject: taken, from: null, to: actor };
  if (job === 'intendCreate') return { what: 'create', subject: 'a new address', from: null, to: actor };
  return { what: 'run', subject: `job ${job}`, from: null, to: actor };
}

interface Given {
  readonly address: string | null;
  readonly ips: readonly ReservedIP[];
  readonly offer: { readonly address: string } | null;
}

/** The withheld changes that an actor waits for now. */
export function withheldIn({ snapshot }: ActorRecord): readonly Difference[] {
  const { failure, acquiring } = fieldsOf(snapshot.context);
  return [failure, fieldsOf(acquiring).failure].flatMap((each) => (fieldsOf(each) as Partial<JobFailure>).withheld ?? []);
}
