import { type DestinationStream, pino } from 'pino';
import type { Log, LogFields } from '../../actors/ports/observers.ts';
import { visible } from '../../machines/model/visible.ts';
import type { Redaction } from './redaction.ts';

interface LogOptions {
  /** True includes debug lines. */
  readonly debug: boolean;
  /** Everything printed passes through it: messages, fields, stacks. */
  readonly redaction: Redaction;
  /** Fields of every line; none, when absent. */
  readonly base?: LogFields | undefined;
  /** Where lines are written synchronously; standard output when absent. */
  readonly destination?: DestinationStream;
}

/** A log of JSON lines: level as a word, ISO time, the fields, the message. Lines are written before the call returns, so none is lost when the process ends. */
export function createLog({ debug, redaction, base, destination }: LogOptions): Log {
  const logger = pino(
    {
      level: debug ? 'debug' : 'info',
      // Neither pid nor hostname: in a cluster both are known from the Pod, and elsewhere they are noise.
      base: base ?? null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // JSON escapes only some control characters. The last character of the line is the newline.
      hooks: { streamWrite: (line) => `${visible(line.slice(0, -1))}\n` },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
  const print =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}): void => {
      if (logger.isLevelEnabled(level)) logger[level](redaction.plain(fields), redaction.hide(message));
    };
  return { debug: print('debug'), info: print('info'), warn: print('warn'), error: print('error') };
}
