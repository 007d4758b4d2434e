import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const crd = parse(readFileSync(join(import.meta.dirname, '../../crds/floatingippools.yaml'), 'utf8'));
const pattern: unknown = crd.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.ips.items.pattern;
if (typeof pattern !== 'string') throw new Error('spec.ips has no pattern');
const address = new RegExp(pattern);

describe('the pattern of an address', () => {
  test.each(['1.2.3.4', '0.0.0.0', '255.255.255.255', '192.168.1.1', '::', '::1', 'fe80::1', '2001:db8::', '1:2:3:4:5:6:7:8', 'A::b:c'])(
    'accepts %s',
    (text) => expect(text).toMatch(address),
  );

  test.each(['999.1.1.1', '256.0.0.1', '010.1.1.1', '1.2.3', '1.2.3.4.5', 'x1.2.3.4', '1', '', ' 1.2.3.4', '1.2.3.4\n', '1.2.3.4/32'])(
    'refuses %j as IPv4',
    (text) => expect(text).not.toMatch(address),
  );

  test.each([':::', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1::2::3', '12345::', ':1', 'fe80::1%eth0', '::ffff:1.2.3.4', 'g::'])(
    'refuses %j as IPv6',
    (text) => expect(text).not.toMatch(address),
  );
});
