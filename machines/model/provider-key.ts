import type { Family } from './types.ts';

/** The name under which a provider's account is worked with: `<cloud>`, with the credentials of the environment, or `<cloud>@<account>`. It names queues and
 *  verifications; nodes are claimed by the cloud, whose machines they are, whatever account asks; for an issuer within its namespace. */

const IPV6 = '/ipv6';

/** Under which an account's list of the addresses of a family is known: its key for IPv4. Each is read by itself, so that one which fails holds up nobody of the other. */
export const listKey = (key: string, family: Family): string => (family === 6 ? key + IPV6 : key);

/** The key of the account that has a list. */
export const accountOfList = (name: string): string => (familyOfList(name) === 6 ? name.slice(0, -IPV6.length) : name);

export const familyOfList = (name: string): Family => (name.endsWith(IPV6) ? 6 : 4);

/** What is in a list, for people. */
export const addressesOf = (list: string): string => `the ${familyOfList(list) === 6 ? 'IPv6 ' : ''}addresses of ${accountOfList(list)}`;

/** The cloud of a provider's key. */
export const cloudOf = (key: string): string => key.split('@', 1)[0] ?? key;

/** What figures of a provider's key are counted under: accounts of a cloud together, and platforms driven by Jobs, so that there are not more and more names. */
export const labelOf = (key: string): string => (isOfJobs(key) ? 'job' : cloudOf(key));

/** An account whose credentials stand in a Secret. No namespace bears a dot, so two Secrets never share a key. */
export const secretKey = (cloud: string, namespace: string, secret: string): string => `${cloud}@${namespace}.${secret}`;

/** A platform whose addresses are driven by the Jobs of a ClusterRoutedIPClass. */
export const jobKey = (className: string): string => `job.${className}`;

export const isOfJobs = (key: string): boolean => key.startsWith('job.');

/** A cloud whose firewall is driven by the Jobs of a ClusterRoutedIPClass, its addresses by its API. */
export const mixedKey = (cloud: string, className: string): string => `${cloud}@class.${className}`;

/** Whether the credentials under a key are those of a class or an issuer: nobody else may name it, or any pool could use the Secrets of any namespace. */
export const isPrivate = (key: string): boolean => key.includes('@') || isOfJobs(key);
