import { dnsScenarios } from './dns.scenario.ts';

dnsScenarios();
