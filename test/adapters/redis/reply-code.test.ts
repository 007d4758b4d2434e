import { expect, test } from 'vitest';
import { replyCode } from '../../../adapters/redis/reply-code.ts';

const CALL = 'ERR Error running script (call to f_beef354d82996a708aa0deac229a63225ff0dd9c): @user_script:1:';

test.each([
  ["OOM command not allowed when used memory > 'maxmemory'.", 'OOM'],
  ['READONLY', 'READONLY'],
  ['OOM command not allowed script: 0e52, on @user_script:4.', 'OOM'],
  // Redis 6.2.
  [`${CALL} @user_script: 1: -READONLY You can't write against a read only replica.`, 'READONLY'],
  [`${CALL} @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.`, 'OOM'],
  [`${CALL} WRONGTYPE Operation against a key holding the wrong kind of value`, 'WRONGTYPE'],
  [`${CALL} Script attempted to access nonexistent global variable 'x'`, ''],
  ['Connection is closed, READONLY or not', ''],
  ['', ''],
])('the code of "%s" is "%s"', (message, code) => expect(replyCode(message)).toBe(code));
