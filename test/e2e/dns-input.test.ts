import { dnsInputScenarios } from './dns-input.scenario.ts';

dnsInputScenarios();
