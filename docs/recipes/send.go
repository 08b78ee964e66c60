// Go 1.21 or later, standard library only: go run send.go
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

type reply struct {
	Data  struct{ ID string `json:"id"` }
	Error struct{ Code, Message string }
}

func main() {
	to := os.Getenv("WAYBILL_TO")
	if to == "" {
		to = "ada@example.com"
	}
	email, _ := json.Marshal(map[string]any{"to": []string{to}, "subject": "Hello from Go", "html": "<p>Hello</p>"})
	key := make([]byte, 16)
	rand.Read(key)
	client := &http.Client{Timeout: 30 * time.Second}
	for attempt := 1; ; attempt++ {
		request, err := http.NewRequest("POST", os.Getenv("WAYBILL_URL")+"/v1/emails", bytes.NewReader(email))
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+os.Getenv("WAYBILL_API_KEY"))
		request.Header.Set("Content-Type", "application/json")
		// The same in every attempt: the mail goes out once.
		request.Header.Set("Idempotency-Key", hex.EncodeToString(key))
		response, err := client.Do(request)
		wait := 1 << attempt
		failure := fmt.Sprint("no response: ", err)
		if err == nil {
			var body reply
			json.NewDecoder(response.Body).Decode(&body)
			response.Body.Close()
			if response.StatusCode == http.StatusAccepted {
				fmt.Println(body.Data.ID)
				return
			}
			// A proxy's body need not be JSON; then it gives no reason.
			failure = fmt.Sprintf("%d %s: %s", response.StatusCode, body.Error.Code, body.Error.Message)
			if response.StatusCode != 429 && response.StatusCode < 500 {
				log.Fatal(failure)
			}
			if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
				wait = seconds
			}
		}
		if attempt == 4 {
			log.Fatal(failure)
		}
		time.Sleep(time.Duration(wait) * time.Second)
	}
}
