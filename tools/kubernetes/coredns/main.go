// Command coredns is a CoreDNS with the plugins that a cluster of one node needs, and no others.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	// The order in which a query passes them; the list of the published command names plugins that are not built in.
	dnsserver.Directives = []string{"bind", "errors", "kubernetes"}
	coremain.Run()
}
