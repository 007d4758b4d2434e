/** Where the inventory is written down for those who may read it. */
export interface InventoryWriter {
  /** In the place of what stands there. @throws Error when it cannot be written: Unreachable, or a right is missing */
  write(text: string): Promise<void>;
}
