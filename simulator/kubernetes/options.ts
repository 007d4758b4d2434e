export interface WriteOptions {
  subresource?: string | undefined;
  dryRun?: boolean;
  fieldValidation?: string | undefined;
  fieldManager?: string | undefined;
  force?: boolean;
  /** Collects texts for the `Warning` headers of the reply. */
  warnings?: string[];
}
