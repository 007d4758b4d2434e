// Command godo makes the calls of the operator, and their neighbours, with DigitalOcean's own client in Go, and prints what it makes of the answers.
//
//	godo URL      of an API with the droplets 11 and 12 in nyc3, of which 11 has IPv6 and the tag web; of each call a line of JSON:
//	              {"call":"GET /v2/…","heard":{…},"read":{…}}: the answer as it came, and as the client reads it; null where there is none
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/digitalocean/godo"
)

// wire sends with a token, and keeps the last call and its answer.
type wire struct {
	call  string
	heard []byte
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer test")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	w.call = request.Method + " " + request.URL.RequestURI()
	w.heard, err = io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(w.heard))
	return response, err
}

var last = &wire{}

func tell(read any) {
	heard := json.RawMessage("null")
	if len(last.heard) > 0 {
		heard = last.heard
	}
	line := map[string]any{"call": last.call, "heard": heard, "read": read}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		fail(err)
	}
}

// said is what the client reads of an answer.
func said[T any](read T, _ *godo.Response, err error) T {
	if err != nil {
		fail(err)
	}
	tell(read)
	return read
}

func done(_ *godo.Response, err error) {
	if err != nil {
		fail(err)
	}
	tell(nil)
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "godo: %s: %v\n", last.call, err)
	os.Exit(1)
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: godo URL"))
	}
	client, err := godo.New(&http.Client{Transport: last}, godo.SetBaseURL(os.Args[1]))
	if err != nil {
		fail(err)
	}
	ctx := context.Background()
	account(ctx, client)
	droplets(ctx, client)
	reservedIPs(ctx, client)
	floatingIPs(ctx, client)
	reservedIPv6s(ctx, client)
	firewalls(ctx, client)
	domains(ctx, client)
}

var all = &godo.ListOptions{Page: 1, PerPage: 200}

func account(ctx context.Context, client *godo.Client) {
	said(client.Account.Get(ctx))
	said(client.BYOIPPrefixes.List(ctx, all))
	said(client.Actions.List(ctx, all))
}

func droplets(ctx context.Context, client *godo.Client) {
	said(client.Droplets.List(ctx, &godo.ListOptions{Page: 2, PerPage: 1}))
	said(client.Droplets.ListByTag(ctx, "web", all))
	said(client.Droplets.ListByName(ctx, "a", all))
	said(client.Droplets.Get(ctx, 11))
	made := said(client.Droplets.Create(ctx, &godo.DropletCreateRequest{
		Name: "made", Region: "nyc3", Size: "s-1vcpu-1gb", Image: godo.DropletCreateImage{Slug: "debian-12-x64"},
	}))
	said(client.Tags.Create(ctx, &godo.TagCreateRequest{Name: "new"}))
	resources := []godo.Resource{{ID: strconv.Itoa(made.ID), Type: godo.DropletResourceType}}
	done(client.Tags.TagResources(ctx, "new", &godo.TagResourcesRequest{Resources: resources}))
	said(client.Tags.Get(ctx, "new"))
	said(client.Tags.List(ctx, all))
	done(client.Tags.UntagResources(ctx, "new", &godo.UntagResourcesRequest{Resources: resources}))
	done(client.Droplets.Delete(ctx, made.ID))
}

func reservedIPs(ctx context.Context, client *godo.Client) {
	made := said(client.ReservedIPs.Create(ctx, &godo.ReservedIPCreateRequest{Region: "nyc3"}))
	action := said(client.ReservedIPActions.Assign(ctx, made.IP, 12))
	said(client.ReservedIPActions.Get(ctx, made.IP, action.ID))
	said(client.ReservedIPActions.List(ctx, made.IP, all))
	said(client.ReservedIPs.Get(ctx, made.IP))
	said(client.ReservedIPs.List(ctx, all))
	said(client.ReservedIPActions.Unassign(ctx, made.IP))
	done(client.ReservedIPs.Delete(ctx, made.IP))
}

func floatingIPs(ctx context.Context, client *godo.Client) {
	made := said(client.FloatingIPs.Create(ctx, &godo.FloatingIPCreateRequest{DropletID: 12}))
	said(client.FloatingIPs.Get(ctx, made.IP))
	said(client.FloatingIPs.List(ctx, all))
	said(client.FloatingIPActions.Unassign(ctx, made.IP))
	action := said(client.FloatingIPActions.Assign(ctx, made.IP, 11))
	said(client.FloatingIPActions.Get(ctx, made.IP, action.ID))
	said(client.FloatingIPActions.List(ctx, made.IP, all))
	done(client.FloatingIPs.Delete(ctx, made.IP))
}

func reservedIPv6s(ctx context.Context, client *godo.Client) {
	made := said(client.ReservedIPV6s.Create(ctx, &godo.ReservedIPV6CreateRequest{Region: "nyc3"}))
	action := said(client.ReservedIPV6Actions.Assign(ctx, made.IP, 11))
	said(client.Actions.Get(ctx, action.ID))
	said(client.ReservedIPV6s.Get(ctx, made.IP))
	said(client.ReservedIPV6s.List(ctx, all))
	said(client.ReservedIPV6Actions.Unassign(ctx, made.IP))
	done(client.ReservedIPV6s.Delete(ctx, made.IP))
}

func firewalls(ctx context.Context, client *godo.Client) {
	open := func(ports string) []godo.InboundRule {
		return []godo.InboundRule{{Protocol: "tcp", PortRange: ports, Sources: &godo.Sources{Addresses: []string{"192.0.2.0/24", "2001:db8::/32"}}}}
	}
	out := []godo.OutboundRule{{Protocol: "icmp", Destinations: &godo.Destinations{Tags: []string{"web"}}}}
	made := said(client.Firewalls.Create(ctx, &godo.FirewallRequest{Name: "front", InboundRules: open("80"), OutboundRules: out, DropletIDs: []int{11}}))
	done(client.Firewalls.AddRules(ctx, made.ID, &godo.FirewallRulesRequest{InboundRules: open("443")}))
	done(client.Firewalls.AddDroplets(ctx, made.ID, 12))
	done(client.Firewalls.AddTags(ctx, made.ID, "web"))
	said(client.Firewalls.Get(ctx, made.ID))
	said(client.Firewalls.List(ctx, all))
	said(client.Firewalls.ListByDroplet(ctx, 12, all))
	done(client.Firewalls.RemoveRules(ctx, made.ID, &godo.FirewallRulesRequest{InboundRules: open("80")}))
	done(client.Firewalls.RemoveDroplets(ctx, made.ID, 11))
	done(client.Firewalls.RemoveTags(ctx, made.ID, "web"))
	said(client.Firewalls.Update(ctx, made.ID, &godo.FirewallRequest{Name: "back", OutboundRules: out}))
	done(client.Firewalls.Delete(ctx, made.ID))
}

func domains(ctx context.Context, client *godo.Client) {
	const zone = "example.com"
	said(client.Domains.Create(ctx, &godo.DomainCreateRequest{Name: zone}))
	made := said(client.Domains.CreateRecord(ctx, zone, &godo.DomainRecordEditRequest{Type: "A", Name: "www", Data: "192.0.2.1", TTL: 60}))
	said(client.Domains.Records(ctx, zone, all))
	said(client.Domains.RecordsByTypeAndName(ctx, zone, "A", "www."+zone, all))
	said(client.Domains.EditRecord(ctx, zone, made.ID, &godo.DomainRecordEditRequest{Type: "A", Data: "192.0.2.2"}))
	said(client.Domains.Record(ctx, zone, made.ID))
	said(client.Domains.Get(ctx, zone))
	said(client.Domains.List(ctx, all))
	done(client.Domains.DeleteRecord(ctx, zone, made.ID))
	done(client.Domains.Delete(ctx, zone))
}
