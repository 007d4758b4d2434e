import { dnsScenarios } from '../e2e/dns.scenario.ts';

dnsScenarios();
