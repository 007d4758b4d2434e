import { ipv6Scenarios } from '../e2e/ipv6.scenario.ts';

ipv6Scenarios();
