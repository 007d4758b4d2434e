/** The name under which a provider's account is worked with: `<cloud>`, with the credentials of the environment, or `<cloud>@<account>`. It names queues and
 *  verifications; nodes are claimed by the cloud, whose machines they are, whatever account asks; for an issuer within its namespace. */

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
