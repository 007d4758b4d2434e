/** Writes the inventory to where authorised users can read it. */
export interface InventoryWriter {
  /** Replaces the stored text. @throws Error when it cannot be written: Unreachable, or a permission is missing */
  write(text: string): Promise<void>;
}
