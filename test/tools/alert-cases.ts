/** Series with their values, a minute apart, as promtool's unit tests have them. */
export type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  readonly alert: string;
  /** What is wrong, as series. */
  readonly wrong: Series;
  /** Minutes until its query answers for the first time; it fires its `for` later, and not before. */
  readonly begins: number;
  /** Labels of the alert besides its severity. */
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
  /** Where the rule has a template. */
  readonly description?: string;
  /** What looks alike and is right, or wrong for too short. */
  readonly right: readonly Series[];
}

const POOL = 'namespace="default",name="ingress",provider="digitalocean",dns="in.example.com"';
const pool = { namespace: 'default', name: 'ingress' };
const state = (of: string): string => `flipop_floatingippoolcontroller_ip_state{ip="192.0.2.1",${POOL},state="${of}"}`;
const nodes = `flipop_floatingippoolcontroller_node_status{${POOL},status="available"}`;
const missing = `flipop_floatingippoolcontroller_unfulfilled_ips{${POOL}}`;
const errors = `flipop_floatingippoolcontroller_ip_assignment_errors{ip="192.0.2.1",${POOL}}`;
const failovers = (within: string): string => `routedip_failover_duration_seconds_bucket{provider="digitalocean",le="${within}"}`;
const machines = (chart: string, at: string): string => `routedip_machines{chart="${chart}",state="${at}"}`;
const calls = (outcome: string): string =>
  `flipop_providers_calls_total{provider="digitalocean",call="AssignIP",kind="FloatingIPPool",namespace="default",name="ingress",outcome="${outcome}"}`;
const budget = (what: string, window: string): string =>
  `routedip_provider_budget_${what}{provider="digitalocean",token="0123",window="${window}"}`;
const addresses = (of: string): string => `routedip_ipgroup_addresses{ipgroup="edge",state="${of}"}`;
const capacity = 'routedip_ipgroup_capacity{ipgroup="edge"}';
const leader = (instance: string): string => `routedip_leader{instance="${instance}"}`;
const synced = 'routedip_cache_synced{kind="FloatingIPPool"}';
const heard = 'routedip_cache_last_sync_timestamp_seconds{kind="FloatingIPPool"}';
const unserved = 'routedip_objects_unserved{kind="RoutedIP",reason="ProviderUnread"}';
const unread = 'routedip_providers_unread{provider="digitalocean"}';
const drifts = 'routedip_drift_total{provider="digitalocean"}';
const said = (condition: string, status: string, reason: string, kind = 'FloatingIPPool'): string =>
  `routedip_objects{kind="${kind}",condition="${condition}",status="${status}",reason="${reason}"}`;
const jobs = (of: string): string => `routedip_queue_jobs{queue="digitalocean",state="${of}"}`;

/** When each alert fires, and when it does not. RoutedIPStartsOver has a test of its own. */
export const ALERTS: readonly AlertCase[] = [
  {
    alert: 'RoutedIPAddressStuck',
    wrong: { [state('in-progress')]: '1x2 stale', [state('error')]: '_x3 1x20' },
    begins: 0,
    labels: { ...pool, ip: '192.0.2.1' },
    summary: '192.0.2.1 of pool default/ingress does not serve',
    right: [
      { [state('active')]: '1x30' },
      { [state('disabled')]: '1x30' },
      { [state('in-progress')]: '1x3 stale', [state('active')]: '_x4 1x20' },
    ],
  },
  {
    alert: 'RoutedIPDrift',
    // Each five minutes another cluster takes an address back.
    wrong: { [drifts]: '0x9 1x4 2x4 3x4 4x4 5x40' },
    begins: 25,
    labels: { provider: 'digitalocean' },
    summary: 'addresses at digitalocean were moved by somebody else 4 times within an hour',
    right: [{ [drifts]: '0x9 1x90' }],
  },
  {
    alert: 'RoutedIPAddressMissing',
    wrong: { [missing]: '2x30' },
    begins: 0,
    labels: pool,
    summary: 'pool default/ingress lacks 2 addresses',
    right: [{ [missing]: '0x30' }, { [missing]: '2x14 0x15' }],
  },
  {
    alert: 'RoutedIPFailoverSlow',
    wrong: { [failovers('30')]: '0x40', [failovers('60')]: '0x40', [failovers('120')]: '0x10 10x30', [failovers('+Inf')]: '0x10 10x30' },
    begins: 11,
    labels: { provider: 'digitalocean' },
    summary: 'failovers at digitalocean take 1m 54s',
    right: [
      {
        [failovers('30')]: '0x10 10x30',
        [failovers('60')]: '0x10 10x30',
        [failovers('120')]: '0x10 10x30',
        [failovers('+Inf')]: '0x10 10x30',
      },
      { [failovers('60')]: '10x40', [failovers('120')]: '20x40', [failovers('+Inf')]: '20x40' },
    ],
  },
  {
    alert: 'RoutedIPNoSpareNode',
    wrong: { [nodes]: '0x40' },
    begins: 0,
    labels: pool,
    summary: 'pool default/ingress has no spare node',
    right: [{ [nodes]: '1x40' }, { [nodes]: '0x28 1x10' }],
  },
  {
    alert: 'RoutedIPRecordSetFailed',
    wrong: { [machines('dns-record-set', 'Failed')]: '2x30' },
    begins: 0,
    labels: {},
    summary: '2 DNS record sets cannot be written',
    right: [{ [machines('dns-record-set', 'Published')]: '2x30', [machines('dns-record-set', 'Failed')]: '0x30' }],
  },
  {
    alert: 'RoutedIPProviderErrors',
    wrong: { [calls('error')]: '0+4x40', [calls('success')]: '0+6x40' },
    begins: 1,
    labels: { provider: 'digitalocean' },
    summary: '40% of the calls to digitalocean fail',
    right: [{ [calls('error')]: '0+1x40', [calls('success')]: '0+9x40' }, { [calls('success')]: '0+9x40' }],
  },
  {
    alert: 'RoutedIPProviderUnread',
    wrong: { [unread]: '0x2 1x5 2x20' },
    begins: 3,
    labels: { provider: 'digitalocean' },
    summary: '2 accounts at digitalocean cannot be read',
    right: [{ [unread]: '0x40' }, { [unread]: '0x4 1x5 0x30' }],
  },
  {
    alert: 'RoutedIPAssignmentErrors',
    wrong: { [errors]: '0x5 5x20' },
    begins: 6,
    labels: pool,
    summary: 'assignments of pool default/ingress fail',
    description: "5 failed in the last 15 minutes. The Events of the pool have the provider's own words.",
    right: [{ [errors]: '0x5 2x20' }, { [errors]: '5x30' }],
  },
  {
    alert: 'RoutedIPBudgetLow',
    wrong: { [budget('left', 'hour')]: '1000x20', [budget('limit', 'hour')]: '5000x20' },
    begins: 0,
    labels: { provider: 'digitalocean', token: '0123' },
    summary: '20% of the hourly calls to digitalocean are left',
    description: 'Verification and DNS of token 0123 stand still until there is more; failover has the rest. Who else uses the token?',
    right: [
      { [budget('left', 'hour')]: '4000x20', [budget('limit', 'hour')]: '5000x20' },
      { [budget('left', 'minute')]: '10x20', [budget('limit', 'minute')]: '250x20' },
    ],
  },
  {
    alert: 'RoutedIPServiceWaits',
    wrong: { [machines('vip-service', 'Pending')]: '3x20' },
    begins: 0,
    labels: {},
    summary: '3 Services of type LoadBalancer have no address',
    right: [{ [machines('vip-service', 'Pending')]: '0x20', [machines('vip-service', 'Serving')]: '3x20' }],
  },
  {
    alert: 'RoutedIPServiceContended',
    wrong: { [machines('vip-service', 'Contended')]: '2x20' },
    begins: 0,
    labels: {},
    summary: '2 Services of type LoadBalancer are left to somebody else, who writes their ingress',
    description:
      'Another controller serves the same Services. The condition Contended of each IPGroup names them; run with --load-balancer-class and --load-balancer-class-only.',
    right: [{ [machines('vip-service', 'Contended')]: '0x20', [machines('vip-service', 'Pending')]: '3x20' }],
  },
  {
    alert: 'RoutedIPGroupNearlyFull',
    wrong: { [addresses('available')]: '1x20', [addresses('allocated')]: '19x20', [capacity]: '20x20' },
    begins: 0,
    labels: { ipgroup: 'edge' },
    summary: '5% of IPGroup edge are free',
    right: [{ [addresses('available')]: '10x20', [addresses('allocated')]: '1x20', [capacity]: '20x20' }],
  },
  {
    alert: 'RoutedIPNoLeader',
    wrong: { [leader('a')]: '0x10', [leader('b')]: '0x10' },
    begins: 0,
    labels: {},
    summary: 'no replica of the operator decides',
    right: [{ [leader('a')]: '0x40', [leader('b')]: '1x40' }],
  },
  {
    alert: 'RoutedIPNoLeader',
    wrong: { [leader('a')]: '1x5 stale' },
    begins: 6,
    labels: {},
    summary: 'no replica of the operator decides',
    right: [{ [leader('a')]: '1x5 stale', [leader('b')]: '1x40' }],
  },
  {
    alert: 'RoutedIPStoreAway',
    wrong: { routedip_store_away: '1x10' },
    begins: 0,
    labels: {},
    summary: 'the operator works without Redis',
    right: [{ routedip_store_away: '0x10' }, { routedip_store_away: '1 0x10' }],
  },
  {
    alert: 'RoutedIPCacheStale',
    wrong: { [synced]: '0x20', [heard]: '0+60x20' },
    begins: 0,
    labels: { kind: 'FloatingIPPool' },
    summary: 'a replica does not see changes of any FloatingIPPool',
    right: [{ [synced]: '1x40', [heard]: '0+60x40' }],
  },
  {
    alert: 'RoutedIPCacheStale',
    wrong: { [synced]: '1x40', [heard]: '0x40' },
    begins: 16,
    labels: { kind: 'FloatingIPPool' },
    summary: 'a replica does not see changes of any FloatingIPPool',
    right: [{ [synced]: '1x40', [heard]: '0x14 840+60x25' }],
  },
  {
    alert: 'RoutedIPJobsNotQueued',
    wrong: { routedip_outbox_commands: '4x10' },
    begins: 0,
    labels: {},
    summary: '4 jobs were decided and cannot be queued',
    right: [{ routedip_outbox_commands: '0x10' }, { routedip_outbox_commands: '4 4 0x10' }],
  },
  {
    alert: 'RoutedIPJobsPileUp',
    wrong: { [jobs('waiting')]: '51x20' },
    begins: 0,
    labels: { queue: 'digitalocean' },
    summary: '51 jobs wait in the queue digitalocean',
    right: [{ [jobs('waiting')]: '50x20', [jobs('delayed')]: '500x20' }],
  },
  {
    alert: 'RoutedIPJobThrew',
    wrong: { [jobs('failed')]: '0x5 1x20' },
    begins: 6,
    labels: { queue: 'digitalocean' },
    summary: 'a job of the queue digitalocean threw',
    right: [{ [jobs('failed')]: '1x30' }],
  },
  {
    alert: 'RoutedIPObjectNotReady',
    wrong: {
      [said('Ready', 'False', 'SafeHold')]: '0x5 1x3 0x20',
      [said('Ready', 'Unknown', 'Unverified')]: '_x9 1x20',
      [said('Ready', 'True', 'AllActive')]: '7x30',
    },
    begins: 6,
    labels: { kind: 'FloatingIPPool' },
    summary: '1 objects of kind FloatingIPPool are not ready',
    right: [
      {
        [said('Ready', 'True', 'AllActive')]: '7x30',
        [said('Degraded', 'True', 'NodeInUse')]: '1x30',
        [said('Ready', 'False', 'Waiting')]: '1x3 0x20',
      },
    ],
  },
  {
    alert: 'RoutedIPObjectNotReady',
    // The zone is named wrongly; once it is right, no node has an address to be listed.
    wrong: {
      [said('Ready', 'False', 'InvalidSpec', 'NodeDNSRecordSet')]: '0x2 1x3 0x30',
      [said('Ready', 'False', 'NoAddress', 'NodeDNSRecordSet')]: '_x5 1x30',
      [said('Ready', 'True', 'Published', 'NodeDNSRecordSet')]: '2x40',
    },
    begins: 3,
    labels: { kind: 'NodeDNSRecordSet' },
    summary: '1 objects of kind NodeDNSRecordSet are not ready',
    right: [
      {
        [said('Ready', 'True', 'Published', 'NodeDNSRecordSet')]: '2x40',
        [said('Degraded', 'True', 'NodesWithoutAddress', 'NodeDNSRecordSet')]: '1x40',
        [said('Ready', 'False', 'Publishing', 'NodeDNSRecordSet')]: '1x3 0x30',
      },
    ],
  },
  {
    alert: 'RoutedIPObjectNotReady',
    wrong: {
      [said('Ready', 'False', 'NoEligibleNode', 'RoutedIP')]: '0x2 2x30',
      [said('Ready', 'Unknown', 'Unverified', 'RoutedIP')]: '0x2 1x30',
      [said('Ready', 'True', 'Assigned', 'RoutedIP')]: '7x40',
    },
    begins: 3,
    labels: { kind: 'RoutedIP' },
    summary: '3 objects of kind RoutedIP are not ready',
    right: [
      {
        [said('Ready', 'True', 'Assigned', 'RoutedIP')]: '7x40',
        [said('Ready', 'False', 'Assigning', 'RoutedIP')]: '1x3 0x30',
      },
    ],
  },
  {
    alert: 'RoutedIPObjectUnserved',
    wrong: { [unserved]: '0x5 3x20' },
    begins: 6,
    labels: { kind: 'RoutedIP', reason: 'ProviderUnread' },
    summary: '3 objects of kind RoutedIP are not served: ProviderUnread',
    right: [{ [unserved]: '3x1 stale' }],
  },
  {
    alert: 'RoutedIPCellFailing',
    wrong: { 'routedip_cells_failing{reason="save"}': '0x5 1x20' },
    begins: 6,
    labels: { reason: 'save' },
    summary: '1 cells fail again and again at the save',
    right: [{ 'routedip_cells_failing{reason="save"}': '0x5 1x0 0x20' }],
  },
  {
    alert: 'RoutedIPStoreUnsafe',
    wrong: { 'routedip_store_fault{reason="EvictingPolicy"}': '1x20' },
    begins: 0,
    labels: { reason: 'EvictingPolicy' },
    summary: 'Redis is not set up for safety: EvictingPolicy',
    right: [{ 'routedip_store_fault{reason="UnknownPolicy"}': '1x30', 'routedip_store_fault{reason="EvictingPolicy"}': '0x30' }],
  },
  {
    alert: 'RoutedIPJobGivenUp',
    wrong: { 'routedip_jobs_given_up_total{queue="digitalocean"}': '0x5 1x20' },
    begins: 6,
    labels: { queue: 'digitalocean' },
    summary: 'a job of the queue digitalocean ended each process that ran it',
    right: [{ 'routedip_jobs_given_up_total{queue="digitalocean"}': '1x30' }],
  },
  {
    alert: 'RoutedIPEventSetAside',
    wrong: { routedip_events_set_aside_total: '0x5 1x20' },
    begins: 6,
    labels: {},
    summary: 'the operator could not handle an event',
    right: [{ routedip_events_set_aside_total: '1x30' }],
  },
];
