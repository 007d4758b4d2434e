// Command health prints what others make of Kubernetes objects: kstatus, by which Flux and cli-utils wait, and a script of Argo CD's.
//
//	health SCRIPT <objects      one object of JSON after another; of each a line of JSON: {"kstatus":{"status":…,"message":…},"argo":{…}}
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "health:", err)
		os.Exit(1)
	}
}

func run(args []string, objects io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: health SCRIPT <objects")
	}
	script, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	in, lines := json.NewDecoder(objects), json.NewEncoder(out)
	for {
		var text json.RawMessage
		if err := in.Decode(&text); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return err
		}
		result, err := status.Compute(object)
		if err != nil {
			return err
		}
		err = lines.Encode(map[string]health{
			"kstatus": {result.Status.String(), result.Message},
			"argo":    argo(object, text, string(script)),
		})
		if err != nil {
			return err
		}
	}
}

// argo is what Argo CD shows, as GetResourceHealth of its gitops-engine and ExecuteHealthLua of its util/lua have it (3.6): without asking the script of an object
// that is being deleted, and Unknown where the script fails or answers with something else.
func argo(object *unstructured.Unstructured, text []byte, script string) health {
	if object.GetDeletionTimestamp() != nil {
		return health{"Progressing", "Pending deletion"}
	}
	answer, err := answerOf(text, script)
	if err != nil {
		return health{"Unknown", err.Error()}
	}
	switch answer.Status {
	case "Unknown", "Progressing", "Suspended", "Healthy", "Degraded", "Missing":
		return answer
	}
	return health{"Unknown", "Lua returned an invalid health status"}
}

// answerOf runs the script with what Argo CD gives it unless it is told to open all libraries: the basic functions, those of packages and of tables, and a second.
// The few functions of `os` that Argo CD has rewritten for it are left out.
func answerOf(text []byte, script string) (health, error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(library.open), Protect: true}, lua.LString(library.name)); err != nil {
			return health{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	l.SetContext(ctx)
	object, err := luajson.Decode(l, text)
	if err != nil {
		return health{}, err
	}
	l.SetGlobal("obj", object)
	if err := l.DoString(script); err != nil {
		return health{}, err
	}
	answer := l.Get(-1)
	if answer.Type() != lua.LTTable {
		return health{}, fmt.Errorf("expect table output from Lua script, not %s", answer.Type())
	}
	encoded, err := luajson.Encode(answer)
	if err != nil {
		return health{}, err
	}
	var found health
	err = json.Unmarshal(encoded, &found)
	return found, err
}
