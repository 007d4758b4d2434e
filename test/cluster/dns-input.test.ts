import { dnsInputScenarios } from '../e2e/dns-input.scenario.ts';

dnsInputScenarios();
