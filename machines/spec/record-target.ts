import { canonicalZone, type RecordTarget } from '../model/dns.ts';
import { number, refuse, text } from '../model/parse.ts';

const DEFAULT_TTL_SECONDS = 60;
/** The maximum TTL of a record (RFC 2181, section 8). */
const LONGEST_TTL_SECONDS = 2_147_483_647;

/** The target of a `dnsRecordSet`; its provider is not checked here. @throws InvalidSpec */
export function recordTarget(set: Readonly<Record<string, unknown>>, provider: string): RecordTarget {
  const zone = canonicalZone(text(set.zone, 'spec.dnsRecordSet.zone'));
  const recordName = text(set.recordName, 'spec.dnsRecordSet.recordName').trim();
  if (!zone || !recordName) refuse('invalid dnsRecordSet specification');
  const ttl = number(set.ttl, 'spec.dnsRecordSet.ttl', Number.isSafeInteger);
  if (ttl > LONGEST_TTL_SECONDS) refuse(`spec.dnsRecordSet.ttl must be at most ${LONGEST_TTL_SECONDS}`);
  return { provider, zone, recordName, ttlSeconds: ttl || DEFAULT_TTL_SECONDS };
}
