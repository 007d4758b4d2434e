import type { Blocked, VirtualIPContext } from '../migration/decisions.ts';
import { isMigrating, STATES, type Stage } from '../migration/phase.ts';
import type { ObjectEvent } from '../model/types.ts';
import type { VirtualIPStatus } from '../vip/virtualip.ts';

const LOAD_BALANCER = 'service is already of type LoadBalancer, change service type to proceed with migration';

/** Why the migration does not start, for users. */
const blockedMessage = (blocked: Blocked): string =>
  blocked.kind === 'loadBalancer' ? LOAD_BALANCER : `VirtualIP ${blocked.name} is being migrated to the service`;

/** Message of every stage of an unhindered migration. */
export const MIGRATING_MESSAGE = 'VirtualIP is being migrated';

const MESSAGES: Readonly<Record<Stage, string>> = {
  reserving: 'creating IP object for the service',
  exposing: 'exposing service with an external IP',
  valid: 'successfully allocated an IP address',
  preparing: MIGRATING_MESSAGE,
  reassociating: MIGRATING_MESSAGE,
  cleaningUp: MIGRATING_MESSAGE,
  converting: MIGRATING_MESSAGE,
  assigning: MIGRATING_MESSAGE,
  migrated: 'VirtualIP has been migrated',
};

/** `status` of the VirtualIP. An error shows as `Error` while it serves as before, and beside the stage during a migration: the shown stage is retried. */
export function virtualIPStatus({
  stage,
  address,
  service,
  clone,
  gsm,
  keepalivedGroup,
  blocked,
  failure,
}: VirtualIPContext): VirtualIPStatus {
  const isError = failure !== null && !isMigrating(stage) && stage !== 'migrated';
  const message = blocked === null ? MESSAGES[stage] : blockedMessage(blocked);
  // Nothing is cloned before a Service is exposed.
  const clonedService = service === '' || stage === 'migrated' ? '' : clone;
  return {
    state: isError ? 'Error' : STATES[stage],
    message: failure?.message ?? message,
    ip: address,
    service,
    keepalivedGroup,
    gsm,
    clonedService,
  };
}

/** Events of one turn: each new stage, a new obstacle, and the end. After a load the same stage is not reported again. */
export function virtualIPEvents(before: VirtualIPContext | null, after: VirtualIPContext): readonly ObjectEvent[] {
  const was = before?.ref ? before : null;
  const isNewStage = was !== null && was.stage !== after.stage;
  const told: ObjectEvent[] = [];
  if (isNewStage && isMigrating(after.stage))
    told.push({ type: 'Normal', reason: 'MigrationStage', action: 'Migrate', message: STATES[after.stage] });
  if (isNewStage && after.stage === 'migrated')
    told.push({ type: 'Normal', reason: 'Migrated', action: 'Migrate', message: MESSAGES.migrated });
  const hindrance = hindranceOf(after);
  if (hindrance !== null && hindrance !== (was && hindranceOf(was)))
    told.push({ type: 'Warning', reason: 'MigrationBlocked', action: 'Migrate', message: hindrance });
  return told;
}

function hindranceOf({ stage, blocked, failure }: VirtualIPContext): string | null {
  if (!isMigrating(stage)) return null;
  return blocked ? blockedMessage(blocked) : (failure?.message ?? null);
}
