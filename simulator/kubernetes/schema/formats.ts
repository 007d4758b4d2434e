import { isIPv4, isIPv6 } from 'node:net';

const matches =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);

const isCidr = (text: string): boolean => {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128);
};

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const DURATION =
  /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)\s*(?:ns|us|µs|ms|s|m|h|d|w|second|seconds|minute|minutes|hour|hours|day|days|week|weeks)\s*)+$/;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** The string formats that API servers check; other formats of a schema are ignored, as there. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: isCidr,
  mac: matches(/^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$/i),
  uuid: matches(UUID),
  uri: (text) => URL.canParse(text) || /^\/\S*$/.test(text),
  email: matches(/^[^\s@]+@[^\s@]+$/),
  hostname: matches(/^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*$/i),
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  'date-time': (text) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)),
  datetime: (text) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)),
  duration: matches(DURATION),
};
