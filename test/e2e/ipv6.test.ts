import { ipv6Scenarios } from './ipv6.scenario.ts';

ipv6Scenarios();
