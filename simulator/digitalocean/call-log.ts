import type { Call as HttpCall, CallLog as HttpCallLog } from '../http/call-log.ts';

interface More {
  readonly requestId: string;
  /** What `ratelimit-remaining` said. */
  readonly remaining: number;
}

export type Call = HttpCall & More;
export type CallLog = HttpCallLog<More>;
