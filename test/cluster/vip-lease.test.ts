import { vipLeaseScenarios } from '../e2e/vip-lease.scenario.ts';

vipLeaseScenarios();
