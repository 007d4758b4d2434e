import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from './prom-client.ts';

/** Sampling interval of the event loop, ms. A finer one would wake an idle process needlessly. */
const EVENT_LOOP_RESOLUTION_MS = 250;

/** Registers the usual process and Node.js metrics, with the names used by Prometheus and its Node.js client. Read at each scrape. */
export function processMetrics(registry: Registry): void {
  const counter = (name: string, help: string, read: () => number): void => {
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  };
  const gauge = (name: string, help: string, read: () => number | null): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const value = read();
        if (value !== null) this.set(value);
      },
    });
  };

  const startedAt = Date.now() / 1000 - process.uptime();
  counter('process_cpu_user_seconds_total', 'CPU time spent in user code.', () => process.cpuUsage().user / 1e6);
  counter('process_cpu_system_seconds_total', 'CPU time spent in the kernel.', () => process.cpuUsage().system / 1e6);
  counter('process_cpu_seconds_total', 'CPU time spent.', () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6);
  gauge('process_start_time_seconds', 'When the process started, since the epoch.', () => startedAt);
  gauge('process_resident_memory_bytes', 'Memory that is in RAM.', () => process.memoryUsage.rss());
  gauge('process_open_fds', 'Open file descriptors.', openFiles);
  gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', () => process.memoryUsage().heapTotal);
  gauge('nodejs_heap_size_used_bytes', 'Used part of the heap.', () => process.memoryUsage().heapUsed);
  gauge('nodejs_external_memory_bytes', 'Memory outside of the heap that objects hold.', () => process.memoryUsage().external);

  const delay = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS });
  delay.enable();
  const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - EVENT_LOOP_RESOLUTION_MS / 1e3);
  gauge('nodejs_eventloop_lag_p50_seconds', 'How late the event loop is, in half of the cases at most.', () => late(delay.percentile(50)));
  gauge('nodejs_eventloop_lag_p99_seconds', 'How late the event loop is, in 99 % of the cases at most.', () => late(delay.percentile(99)));
  // Last, since it resets the histogram: each scrape covers the time since the previous one.
  gauge('nodejs_eventloop_lag_max_seconds', 'How late the event loop was at most since the last scrape.', () => {
    const most = late(delay.max);
    delay.reset();
    return most;
  });
}

/** Null where the system does not provide it. */
function openFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length - 1; // reading the folder opened one
  } catch {
    return null;
  }
}
