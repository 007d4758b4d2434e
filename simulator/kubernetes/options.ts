import type { User } from './users.ts';

export interface WriteOptions {
  subresource?: string | undefined;
  dryRun?: boolean;
  fieldValidation?: string | undefined;
  fieldManager?: string | undefined;
  /** Server-side apply takes fields from their owners. */
  force?: boolean;
  /** The object comes out of server-side apply, owners and all. */
  applied?: boolean;
  /** Who writes; absent for the cluster's own controllers, whom no policy is asked about. */
  user?: User | undefined;
  /** Collects texts for the `Warning` headers of the reply. */
  warnings?: string[];
}
