/** What must hold at every moment of firewalls in which RoutedIPs have something opened. */
export type FirewallRule =
  /** Where the firewall comes first, an assign is sent only once everything is open, and in force, on the node; where the firewall has no room for what was asked for
   *  since, all that was open before, where it served or for an assignment that failed: it moves with that. */
  | 'opens before it assigns'
  /** Where the firewall comes after, nothing is opened on a node before the address has come there. */
  | 'assigns before it opens, where that is asked for'
  /** What was open for an address that serves is closed only once the address is confirmed where it is open as well, or given up. */
  | 'keeps open what serves'
  | 'removes only what it added'
  | 'one change of a firewall at a time'
  /** Of the last rules a namespace gets one only while it has fewer than are free; of all others whoever asks. */
  | 'leaves the last rules to namespaces that have few'
  /** A RoutedIP that goes leaves nothing open that nobody else needs. */
  | 'leaves nothing open behind';
