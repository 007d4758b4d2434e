export interface WriteOptions {
  subresource?: string | undefined;
  dryRun?: boolean;
  fieldValidation?: string | undefined;
  fieldManager?: string | undefined;
  /** Server-side apply takes fields from their owners. */
  force?: boolean;
  /** The object comes out of server-side apply, owners and all. */
  applied?: boolean;
  /** Collects texts for the `Warning` headers of the reply. */
  warnings?: string[];
}
